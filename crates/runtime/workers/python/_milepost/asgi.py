"""ASGI applications: HTTP and lifespan, with streamed bodies."""

import asyncio
import sys
from urllib.parse import unquote_to_bytes

from . import loop as blocking
from .encode import head as make_head

STOP_WITHIN = 5


def runner(app, state):
    """Returns a coroutine function that runs one request. `state` comes from the application's
    startup."""

    async def run(slot, request):
        exchange = Exchange(slot, request)
        await app(scope(request, state), exchange.receive, exchange.send)
        exchange.finish()

    return run


def scope(request, state):
    path, query = request._target
    host = request.host
    name, colon, port = host.rpartition(":")
    scheme = request.scheme
    if not colon or not port.isdigit():
        name, port = host, 443 if scheme == "https" else 80
    mount = request._mount.encode("latin-1")
    # Unlike in WSGI, the path of a mounted application includes its mount point.
    raw = mount + path.encode("latin-1")
    head = request._head
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": head[0],
        "scheme": scheme,
        "path": unquote_to_bytes(raw).decode("utf-8", "replace"),
        "raw_path": raw,
        "query_string": query.encode("latin-1"),
        "root_path": unquote_to_bytes(mount).decode("utf-8", "replace"),
        "headers": [
            (head[at].encode("latin-1"), head[at + 1].encode("latin-1"))
            for at in range(2, len(head) - 1, 2)
            if head[at][:1] != ":"
        ],
        "client": (request.remote_addr or "", 0),
        "server": (name, int(port)),
        "state": state.copy(),
        "milepost.params": request.view_args,
    }


class Exchange:
    """`receive` and `send` of one request."""

    def __init__(self, slot, request):
        self.slot = slot
        self.request = request
        self.first = request._piece  # received with the head
        self.more = True  # the application has not received the end of the body
        self.head = None
        self.begun = False
        self.done = False
        self.silent = request._head[0] == "HEAD"

    async def receive(self):
        slot = self.slot
        if self.done or slot.is_over(self.request):
            return {"type": "http.disconnect"}
        if self.more:
            piece, self.first = self.first, b""
            if not piece and (slot.pieces or not slot.ended):
                piece = await slot.read(self.request)
            # A body may end while the application does something else, so the end is always
            # reported after `more_body`. A truncated body has no end.
            if piece or not slot.cancelled:
                self.more = bool(slot.pieces) or not slot.ended or slot.cancelled
                return {"type": "http.request", "body": piece or b"", "more_body": self.more}
        while not (slot.cancelled or self.done or slot.is_over(self.request)):
            await slot.wait()
        return {"type": "http.disconnect"}

    async def send(self, message):
        kind = message["type"]
        if self.done:
            return
        if kind == "http.response.start":
            if self.head is not None:
                raise RuntimeError("http.response.start was sent twice")
            self.head = make_head(message["status"], message.get("headers") or ())
        elif kind == "http.response.body":
            if self.head is None:
                raise RuntimeError("http.response.body was sent before http.response.start")
            await self.body(bytes(message.get("body", b"")), message.get("more_body", False))
        else:
            raise RuntimeError("the message %r is not known here" % kind)

    async def body(self, body, more):
        slot = self.slot
        if self.silent or blocking.has_no_body(self.head):
            if not self.begun and not more:
                self.head = blocking.with_length(self.head, len(body))
            body = b""
        if not more:
            self.done = True
            slot.wake()
        if not self.begun:
            self.begun = True
            slot.respond(self.request, self.head, body, end=not more)
        elif body or not more:
            slot.piece(self.request, body, end=not more)
        if slot.drained is not None:
            await slot.drained

    def finish(self):
        if self.done:
            return
        if self.head is None:
            raise RuntimeError("the application returned without a response")
        raise RuntimeError("the application returned before its response was complete")


class Lifespan:
    """Runs startup before the worker is ready and shutdown when it ends. Optional for
    applications."""

    def __init__(self, app):
        self.app = app
        self.state = {}
        self.messages = None
        self.task = None
        self.failed = None

    async def start(self, loop):
        self.messages = asyncio.Queue()
        self.started = loop.create_future()
        self.stopped = loop.create_future()
        self.messages.put_nowait({"type": "lifespan.startup"})
        self.task = loop.create_task(self.run())
        await self.started
        if self.failed is not None:
            raise RuntimeError("the application's startup failed: %s" % self.failed)

    async def run(self):
        try:
            scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": self.state}
            await self.app(scope, self.messages.get, self.send)
        except Exception as error:
            # An application without lifespan support raises. Errors during shutdown are logged.
            if self.started.done():
                sys.stderr.write("the application's shutdown failed: %r\n" % error)
        finally:
            for future in (self.started, self.stopped):
                if not future.done():
                    future.set_result(None)

    async def send(self, message):
        kind = message["type"]
        if kind.startswith("lifespan.startup"):
            if kind.endswith("failed"):
                self.failed = message.get("message") or "it gave no reason"
            if not self.started.done():
                self.started.set_result(None)
        elif not self.stopped.done():
            self.stopped.set_result(None)

    async def stop(self):
        if self.task is None or self.task.done():
            return
        self.messages.put_nowait({"type": "lifespan.shutdown"})
        await asyncio.wait([self.stopped], timeout=STOP_WITHIN)
