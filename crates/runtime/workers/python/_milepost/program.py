"""Runs a program of the package once per request, as in Fission's binary environment.

The program gets the body on standard input and everything else in environment variables, and writes
the response to standard output.
"""

import errno
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import threading

from . import load, state
from .loop import send

DEFAULT = "main"
MOST = 16 << 20
PIECE = 65536


class ProgramError(load.LoadError):
    """Reported without a traceback, which would only have the worker's lines."""


def find(entrypoint, code):
    return Program(executable(locate(entrypoint, code)))


def locate(entrypoint, code):
    """Returns the file that an entrypoint names. The default is `main`, or the only file."""
    path = os.path.realpath(os.path.join(code, entrypoint or DEFAULT))
    if not path.startswith(os.path.realpath(code) + os.sep):
        raise load.LoadError("The entrypoint %r is not a path inside the package" % entrypoint)
    if not entrypoint and not os.path.isfile(path):
        files = [entry for entry in os.listdir(code) if os.path.isfile(os.path.join(code, entry)) and entry[0] != "."]
        if len(files) == 1:
            path = os.path.join(code, files[0])
    if not os.path.isfile(path):
        raise load.LoadError(
            "The package has no file %r to run. %s" % (entrypoint or DEFAULT, load.listing(code))
        )
    return path


def executable(path):
    """Returns the command that runs a file, with or without its executable bit."""
    with open(path, "rb") as file:
        first = file.read(256)
    if os.access(path, os.X_OK):
        return [path]
    if first.startswith(b"#!"):
        return os.fsdecode(first[2:].split(b"\n", 1)[0]).split(None, 1) + [path]
    if first.startswith(b"\x7fELF"):
        copy = os.path.join(tempfile.mkdtemp(), os.path.basename(path))
        shutil.copyfile(path, copy)
        os.chmod(copy, stat.S_IRUSR | stat.S_IXUSR)
        return [copy]
    return ["/bin/sh", path]


class Program:
    def __init__(self, command):
        self.command = command

    def handle(self, connection, request):
        with tempfile.TemporaryFile() as body:
            length = 0
            while True:
                piece = request.stream.read(PIECE)
                if not piece:
                    break
                length += len(piece)
                body.write(piece)
            body.seek(0)
            answer = self.run(body, environment(request, length))
        send(connection, request, b"200\0content-type\0" + kind(answer), answer)

    def run(self, body, variables):
        process = self.start(body, variables)
        ended = threading.Thread(target=end_group, args=(process,), daemon=True)
        ended.start()
        parts, length = [], 0
        with process.stdout as out:
            while True:
                piece = out.read(PIECE)
                if not piece:
                    break
                length += len(piece)
                if length > MOST:
                    kill(process)
                    raise ProgramError("the program printed more than %d MiB" % (MOST >> 20))
                parts.append(piece)
        ended.join()
        code = process.returncode
        if code < 0:
            raise ProgramError("the program was killed by %s" % signal_name(-code))
        if code:
            raise ProgramError("the program ended with exit code %d" % code)
        return b"".join(parts)

    def start(self, body, variables):
        options = dict(stdin=body, stdout=subprocess.PIPE, env=variables, cwd=os.getcwd(), start_new_session=True, bufsize=0)
        try:
            return subprocess.Popen(self.command, **options)
        except OSError as error:
            if error.errno == errno.ENOEXEC and len(self.command) == 1:
                # A script without a `#!` line.
                self.command = ["/bin/sh"] + self.command
                return subprocess.Popen(self.command, **options)
            raise ProgramError("the program could not be started: %s" % error) from None


def end_group(process):
    """Kills what a program leaves running. Otherwise its output would have no end."""
    process.wait()
    kill(process)


def kill(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except OSError:
        pass


def signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return "signal %d" % number


def environment(request, length):
    """The function's own variables, and those in which Fission passes a request."""
    found = dict(os.environ)
    fields = request._head
    for name, value in zip(fields[2::2], fields[3::2]):
        # Headers with an underscore could be mistaken for others. The gateway's own parameter
        # headers may have one.
        if name[:1] == ":" or ("_" in name and not name.lower().startswith("x-fission-params-")):
            continue
        # `HTTP_PROXY` would set the proxy of everything that the program runs.
        if name.lower() == "proxy":
            continue
        for shown in {name.upper(), name.upper().replace("-", "_")}:
            found.setdefault("HTTP_" + shown, value)
    found["REQUEST_METHOD"] = fields[0]
    found["REQUEST_URI"] = fields[1]
    found["CONTENT_LENGTH"] = str(length)
    found["PATH"] = os.pathsep.join(filter(None, [found.get("PATH", os.defpath), state.code]))
    return found


def kind(answer):
    """Guesses the content type of the output, because the program cannot set one."""
    if answer[:256].lstrip().lower().startswith((b"<!doctype html", b"<html")):
        return b"text/html; charset=utf-8"
    try:
        answer.decode()
    except UnicodeDecodeError:
        return b"application/octet-stream"
    return b"application/octet-stream" if b"\0" in answer else b"text/plain; charset=utf-8"
