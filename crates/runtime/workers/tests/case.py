"""Shared parts of the tests of both workers."""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import ThreadingMixIn, UnixStreamServer

from drive import DEADLINE, Worker

JSON = ("content-type", "application/json")
BIG = 10 * 1024 * 1024


class Case(unittest.TestCase):
    """A test that runs functions in workers."""

    runtime = "python"
    flags = ()

    def write(self, files):
        """Creates a package: a directory with these files."""
        folder = tempfile.mkdtemp(prefix="milepost-code-")
        self.addCleanup(shutil.rmtree, folder)
        for name, content in files.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content if isinstance(content, bytes) else textwrap.dedent(content).encode("utf-8"))
        return folder

    def worker(self, files, environment=None, flags=None):
        if not isinstance(files, dict):
            files = {{"python": "main.py", "node": "index.js"}[self.runtime]: files}
        worker = Worker.take(self.runtime, self.write(files), environment, self.flags if flags is None else flags)
        self.addCleanup(worker.stop)
        return worker

    def run_function(self, files, flags=None, environment=None, **init):
        """Returns a channel to a worker that has loaded the function. The worker is `self.last`."""
        self.last = self.worker(files, environment, flags)
        return self.last.init(**init)

    def refuse_processes(self):
        """Limits the worker to the processes it has. The limit does not apply to root, so the
        function must become another user."""
        resource.prlimit(self.last.process.pid, resource.RLIMIT_NPROC, (0, 0))

    def until(self, true, what):
        """Polls for something that another process does."""
        end = time.monotonic() + DEADLINE
        while not true():
            self.assertLess(time.monotonic(), end, "waited in vain for " + what)
            time.sleep(0.01)

    def send(self, channel, data, size=100000):
        """Sends a request whose body is split into pieces."""
        channel.request("POST", "/", [("content-length", str(len(data)))], data[:size], end=False)
        for at in range(size, len(data), size):
            channel.body(data[at : at + size], end=at + size >= len(data))

    def gateway(self, unix=False):
        """Starts a server for calls to other functions. Returns its address and the requests it
        received."""
        seen = []

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                seen.append(
                    (self.path, self.headers["milepost-call"], self.headers["content-type"], body, id(self.connection))
                )
                data = json.dumps({"got": json.loads(body)}).encode()
                self.send_response(202)
                self.send_header("x-seen", self.headers["x-a"])
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):
                seen.append((self.path, self.headers["milepost-call"], self.headers["x-a"]))
                self.send_response(200)
                self.send_header("content-length", "2")
                self.end_headers()
                self.wfile.write(b"ok")

            def log_message(self, *arguments):
                pass

        if unix:
            folder = tempfile.mkdtemp(prefix="milepost-gateway-")
            self.addCleanup(shutil.rmtree, folder)
            server = UnixServer(os.path.join(folder, "s"), Handler)
            address = "unix:" + server.server_address
        else:
            server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
            address = "127.0.0.1:%d" % server.server_port
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return address, seen


# Paths that a function calls, and what must be received.
ADDRESSES = (
    ("/é/☃ x", "/.milepost/call/inner/%C3%A9/%E2%98%83%20x"),
    ("/%C3%A9/a%2Fb?q=ü&r=%20+", "/.milepost/call/inner/%C3%A9/a%2Fb?q=%C3%BC&r=%20+"),
    ("//a/../b;c=1,2@:!$&'()*[]|~-._#gone", "/.milepost/call/inner/a/../b;c=1,2@:!$&'()*[]|~-._"),
    ('/"<>`{}\n', "/.milepost/call/inner/%22%3C%3E%60%7B%7D%0A"),
    ("", "/.milepost/call/inner/"),
)


class UnixServer(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True


class NodeCase(Case):
    runtime = "node"


def main(program, modules):
    """Runs the tests of these modules, or those named on the command line as
    `module.Class.test`."""
    shown = subprocess.run([program, "--version"], stdout=subprocess.PIPE, check=True).stdout.decode().strip()
    print("%s, %s" % (shown, program), file=sys.stderr)
    named = sys.argv[1:]
    unittest.main(module=None, argv=[sys.argv[0]] + (named or modules))
