"""Speaks the server's side of the worker protocol (docs/decisions/005-runtime.md), for tests and measurements.

As a program it measures: `python3 drive.py [python|node] [seconds] [function folder]`.
"""

import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest

WORKERS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INIT, READY, FAILED, REQUEST, BODY, RESPONSE, ERROR, CANCEL = range(1, 9)
END = 1
DEADLINE = 20


def interpreter():
    """The interpreter itself: `python3` on the path may be a version manager's shim."""
    return os.environ.get("MILEPOST_TEST_PYTHON") or sys.executable


def command(runtime, flags=()):
    if runtime == "python":
        return [interpreter(), "-I", "-B", "-X", "utf8", *flags, os.path.join(WORKERS, "python", "milepost_worker.py")]
    return [os.environ.get("MILEPOST_TEST_NODE", "node"), os.path.join(WORKERS, "node", "milepost_worker.mjs")]


class Channel:
    """One connection to a worker."""

    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(DEADLINE)
        self.sock.connect(path)
        self.rest = b""

    def frame(self, kind, payload=b"", flags=0):
        self.sock.sendall(struct.pack("<IBBH", len(payload), kind, flags, 0) + payload)

    def exactly(self, count):
        while len(self.rest) < count:
            data = self.sock.recv(1 << 20)
            if not data:
                raise EOFError("the worker closed the connection")
            self.rest += data
        data, self.rest = self.rest[:count], self.rest[count:]
        return data

    def read(self):
        length, kind, flags, zero = struct.unpack("<IBBH", self.exactly(8))
        assert zero == 0
        return kind, flags, self.exactly(length)

    def request(self, method="GET", target="/", headers=(), body=b"", end=True):
        head = request_head(method, target, headers)
        self.frame(REQUEST, struct.pack("<I", len(head)) + head + body, END if end else 0)

    def body(self, data, end=False):
        self.frame(BODY, data, END if end else 0)

    def response(self):
        return Answer.read(self)

    def call(self, *arguments, **named):
        self.request(*arguments, **named)
        return self.response()

    def close(self):
        self.sock.close()


def request_head(method, target, headers):
    fields = [method, target]
    for name, value in headers:
        fields += [name, value]
    return b"\0".join(f if isinstance(f, bytes) else f.encode("utf-8") for f in fields)


class Threw(Exception):
    """The worker answered with an error frame."""

    def __init__(self, document, answer=None):
        super().__init__(document["message"])
        self.message = document["message"]
        self.trace = document["trace"]
        self.answer = answer


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers  # [(bytes, bytes)]
        self.body = body

    def header(self, name):
        found = self.all(name)
        return found[0] if found else None

    def all(self, name):
        return [value.decode("latin-1") for key, value in self.headers if key == name.encode()]

    @property
    def text(self):
        return self.body.decode("utf-8")

    def json(self):
        return json.loads(self.body)

    @staticmethod
    def head(payload):
        size = struct.unpack_from("<I", payload)[0]
        fields = payload[4 : 4 + size].split(b"\0")
        assert len(fields) % 2 == 1, fields
        return Answer(int(fields[0]), list(zip(fields[1::2], fields[2::2])), payload[4 + size :])

    @staticmethod
    def read(channel):
        kind, flags, payload = channel.read()
        if kind == ERROR:
            raise Threw(json.loads(payload))
        assert kind == RESPONSE, kind
        answer = Answer.head(payload)
        parts = [answer.body]
        while not flags & END:
            kind, flags, payload = channel.read()
            if kind == ERROR:
                raise Threw(json.loads(payload), answer)
            assert kind == BODY, kind
            parts.append(payload)
        answer.body = b"".join(parts)
        return answer


class Case(unittest.TestCase):
    """A test that runs functions in workers."""

    runtime = "python"
    flags = ()

    def write(self, files):
        """A package: a folder with these files."""
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
        worker = Worker(self.runtime, self.write(files), environment, self.flags if flags is None else flags)
        self.addCleanup(worker.stop)
        return worker

    def run_function(self, files, flags=None, environment=None, **init):
        """A channel to a worker that has loaded this; the worker is `self.last`."""
        self.last = self.worker(files, environment, flags)
        return self.last.init(**init)

    def until(self, true, what):
        """Waits for something that another process does in its own time."""
        end = time.monotonic() + DEADLINE
        while not true():
            self.assertLess(time.monotonic(), end, "waited in vain for " + what)
            time.sleep(0.01)


class Failed(Exception):
    def __init__(self, document):
        super().__init__(document["message"])
        self.message = document["message"]
        self.trace = document["trace"]


class Worker:
    """A real worker process with the listening socket as descriptor 3."""

    def __init__(self, runtime, folder, environment=None, flags=()):
        self.folder = folder
        self.scratch = tempfile.mkdtemp(prefix="milepost-worker-")
        self.path = os.path.join(self.scratch, "s")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(self.path)
        listener.listen(64)

        def place():
            os.dup2(listener.fileno(), 3)
            os.set_inheritable(3, True)

        keep = {name: os.environ[name] for name in ("PATH",) if name in os.environ}
        keep.update({"HOME": self.scratch, "LANG": "C.UTF-8"})
        keep.update(environment or {})
        self.process = subprocess.Popen(
            command(runtime, flags), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=keep, cwd="/", pass_fds=(3,), preexec_fn=place,
        )  # fmt: skip
        listener.close()
        self.output = {}
        self.readers = []
        for name in ("stdout", "stderr"):
            self.output[name] = b""
            reader = threading.Thread(target=self._collect, args=(name,), daemon=True)
            reader.start()
            self.readers.append(reader)
        self.channels = []

    def _collect(self, name):
        pipe = getattr(self.process, name)
        while True:
            data = os.read(pipe.fileno(), 65536)
            if not data:
                return
            self.output[name] += data

    def open(self):
        channel = Channel(self.path)
        self.channels.append(channel)
        return channel

    def init(self, **fields):
        document = {
            "protocol": 1, "entrypoint": "", "code": self.folder, "variables": {}, "secrets": {}, "config": {},
            "function": "fn", "version": "7", "app": "shop", "threads": 1,
        }  # fmt: skip
        document.update(fields)
        channel = self.open()
        channel.frame(INIT, json.dumps(document).encode())
        kind, _, payload = channel.read()
        document = json.loads(payload)
        if kind == FAILED:
            raise Failed(document)
        assert kind == READY, kind
        self.convention = document["convention"]
        return channel

    def wait(self):
        """The exit code, and all of the output."""
        code = self.process.wait(DEADLINE)
        for reader in self.readers:
            reader.join(DEADLINE)
        return code

    def stop(self):
        for channel in self.channels:
            channel.close()
        try:
            self.process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            for reader in self.readers:
                reader.join(DEADLINE)
            self.process.stdout.close()
            self.process.stderr.close()
            os.unlink(self.path)
            os.rmdir(self.scratch)


HELLO = {
    "python": {"main.py": 'def main():\n    return "Hello, world!"\n'},
    "node": {"main.js": 'module.exports = async (context) => ({ status: 200, body: "Hello, world!" })\n'},
}
# What a browser and the gateway send together.
HEADERS = (
    ("host", "shop.localhost:8080"), ("user-agent", "curl/8.5.0"), ("accept", "*/*"), ("x-forwarded-for", "127.0.0.1"),
    ("x-forwarded-host", "shop.localhost:8080"), ("x-forwarded-proto", "http"), (":id", "01J9ZQ4T5Y8W3K6M2N7P"),
    (":release", "abcde"), (":deadline", "60000"), (":client", "127.0.0.1"), (":route", "/hello"),
    (":call", "shop.abcde.1767225600.0123456789abcdef0123456789abcdef"),
)  # fmt: skip


def measure(runtime, seconds, folder):
    """Requests a second over one connection, one in flight, and the worker's own processor time for each."""
    worker = Worker(runtime, folder)
    began = time.perf_counter()
    time.sleep(1.0 if runtime == "python" else 1.5)
    began = time.perf_counter()
    channel = worker.init()
    ready = time.perf_counter() - began
    channel.call(headers=HEADERS)
    first = time.perf_counter() - began
    head = request_head("GET", "/hello?name=x", HEADERS)
    frame = struct.pack("<IBBHI", 4 + len(head), REQUEST, END, 0, len(head)) + head
    send, recv = channel.sock.sendall, channel.sock.recv
    channel.sock.settimeout(None)

    def turn(count):
        for _ in range(count):
            send(frame)
            recv(65536)

    turn(5000)
    ticks = processor_time(worker.process.pid)
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        turn(500)
        count += 500
    took = time.perf_counter() - began
    spent = processor_time(worker.process.pid) - ticks
    print(
        "%-6s %-10s ready %5.1f ms, first answer %5.1f ms, %7.0f requests/s, worker %5.1f us of processor each"
        % (runtime, worker.convention, ready * 1e3, first * 1e3, count / took, spent / count * 1e6)
    )
    worker.stop()


def processor_time(pid):
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    runtimes = [sys.argv[1]] if len(sys.argv) > 1 else ["python", "node"]
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 3.0
    for runtime in runtimes:
        if len(sys.argv) > 3:
            measure(runtime, seconds, os.path.abspath(sys.argv[3]))
            continue
        with tempfile.TemporaryDirectory() as folder:
            for name, text in HELLO[runtime].items():
                with open(os.path.join(folder, name), "w") as file:
                    file.write(text)
            measure(runtime, seconds, folder)


if __name__ == "__main__":
    main()
