"""The server's side of the worker protocol (docs/decisions/005-runtime.md), for tests and
measurements."""

import atexit
import json
import os
import secrets
import socket
import struct
import subprocess
import sys
import tempfile
import threading

WORKERS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INIT, READY, FAILED, REQUEST, BODY, RESPONSE, ERROR, CANCEL = range(1, 9)
END = 1
DEADLINE = 20


def interpreter():
    """The interpreter itself, because `python3` on the path may be a version manager's shim."""
    return os.environ.get("MILEPOST_TEST_PYTHON") or sys.executable


def node():
    return os.environ.get("MILEPOST_TEST_NODE", "node")


def command(runtime, flags=()):
    if runtime == "python":
        return [interpreter(), "-I", "-B", "-X", "utf8", *flags, os.path.join(WORKERS, "python", "milepost_worker.py")]
    return [node(), os.path.join(WORKERS, "node", "milepost_worker.mjs")]


def packed(kind, payload=b"", flags=0, ident=0):
    return struct.pack("<IBBHQ", len(payload), kind, flags, 0, ident) + payload


class Channel:
    """One connection to a worker."""

    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(DEADLINE)
        self.sock.connect(path)
        self.rest = b""
        self.id = 0

    def frame(self, kind, payload=b"", flags=0):
        self.sock.sendall(packed(kind, payload, flags, self.id))

    def exactly(self, count):
        while len(self.rest) < count:
            data = self.sock.recv(1 << 20)
            if not data:
                raise EOFError("the worker closed the connection")
            self.rest += data
        data, self.rest = self.rest[:count], self.rest[count:]
        return data

    def read(self):
        length, kind, flags, zero, ident = struct.unpack("<IBBHQ", self.exactly(16))
        assert zero == 0
        assert ident == self.id, (ident, self.id)
        return kind, flags, self.exactly(length)

    def request(self, method="GET", target="/", headers=(), body=b"", end=True):
        head = request_head(method, target, headers)
        self.id = secrets.randbits(64)
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
    """The worker responded with an error frame."""

    def __init__(self, document, answer=None):
        super().__init__(document["message"])
        self.message = document["message"]
        self.trace = document["trace"]
        self.exhausted = document.get("exhausted", False)
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


class Failed(Exception):
    def __init__(self, document):
        super().__init__(document["message"])
        self.message = document["message"]
        self.trace = document["trace"]


class Worker:
    """A real worker process with the listening socket as descriptor 3."""

    spares = {}

    @classmethod
    def take(cls, runtime, folder, environment=None, flags=()):
        """Takes a worker that was started ahead of time, as the server does, while the previous
        test ran."""
        key = (runtime, tuple(flags))
        worker = (
            cls(runtime, environment, flags) if environment else cls.spares.pop(key, None) or cls(runtime, None, flags)
        )
        if key not in cls.spares:
            cls.spares[key] = cls(runtime, None, flags)
        worker.folder = folder
        return worker

    def __init__(self, runtime, environment=None, flags=()):
        self.folder = None
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
            "protocol": 2, "entrypoint": "", "code": self.folder, "variables": {}, "secrets": {}, "config": {},
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
        """Waits for the exit code and all of the output."""
        code = self.process.wait(DEADLINE)
        for reader in self.readers:
            reader.join(DEADLINE)
        return code

    def discard(self):
        self.process.kill()
        self.stop()

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


@atexit.register
def discard_spares():
    for worker in Worker.spares.values():
        worker.discard()
