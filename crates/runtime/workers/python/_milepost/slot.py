"""A connection on the event loop: the frames of `wire.py`, without blocking."""

import asyncio
import collections
import inspect
import json
import sys

from . import load, state
from .children import leave_if_child, own
from .encode import encoded
from .loop import flush, has_no_body, leave_if_asked, with_length
from .reply import answer
from .web import Request
from .wire import (
    BODY,
    CANCEL,
    END,
    ERROR,
    HEADER,
    PIECE,
    REQUEST,
    RESPONSE,
    Late,
    ProtocolError,
    pack_frame,
    pack_response,
    unpack_frame,
    unpack_request,
)

# Limit on unread body bytes. Beyond it, the rest stays with the server.
HELD = 4 * PIECE


class Slot(asyncio.Protocol):

    def __init__(self, loop, run, ended=None):
        self.loop = loop
        self.run = run  # coroutine function of (slot, request)
        self.on_end = ended
        self.transport = None
        self.rest = b""
        self.left = 0  # remaining bytes of the current body frame
        self.last = False  # the current frame ends the body
        self.drained = None
        self.running = None  # the task of the request
        self.over = True  # the response is complete
        self.id = 0  # of the request
        self.reset(True)

    def reset(self, ended):
        self.pieces = collections.deque()  # of the request's body, not read yet
        self.held = 0
        self.ended = ended  # all of the body was received
        self.cancelled = False
        self.streaming = False  # the response may be cut off at any time
        self.waiter = None

    # --- callbacks of the event loop

    def connection_made(self, transport):
        self.transport = transport
        own(transport.get_extra_info("socket")._sock)
        transport.set_write_buffer_limits(high=HELD)

    def connection_lost(self, error):
        self.cancel()
        self.resume_writing()
        if self.on_end is not None:
            self.on_end()

    def pause_writing(self):
        self.drained = self.loop.create_future()

    def resume_writing(self):
        if self.drained is not None and not self.drained.done():
            self.drained.set_result(None)
        self.drained = None

    def data_received(self, data):
        if not self.rest and not self.left and len(data) >= 20:
            length, kind, flags, _, ident, head = unpack_request(data)
            if kind == 4 and len(data) == 16 + length:
                head += 20
                self.start(data[20:head], data[head:], flags, ident)
                return
        data = self.rest + data if self.rest else data
        at = 0
        while True:
            if self.left:
                piece = data[at : at + self.left]
                if not piece:
                    break
                at += len(piece)
                self.left -= len(piece)
                self.arrived(piece, self.last and not self.left)
            if len(data) - at < HEADER:
                break
            after = self.frame(data, at)
            if after == at:
                break
            at = after
        self.rest = data[at:]

    def frame(self, data, at):
        """Parses one frame, or the received part of a body. Returns the offset of the next frame,
        or `at` if more data is needed."""
        length, kind, flags, _, ident = unpack_frame(data, at)
        start = at + HEADER
        if kind == REQUEST:
            head = start + 4 + int.from_bytes(data[start : start + 4], "little")
            if len(data) < start + 4 or len(data) < head:
                return at
            end = min(len(data), start + length)
            self.left = start + length - end
            self.last = bool(flags & END)
            self.start(data[start + 4 : head], data[head:end], 0 if self.left else flags, ident)
            return end
        if kind == BODY:
            self.left = length
            self.last = bool(flags & END)
            if not length:
                self.arrived(b"", self.last)
            return start
        if kind != CANCEL:
            raise ProtocolError("a frame of kind %d came where a request was due" % kind)
        if len(data) < start + length:
            return at
        if not self.over:
            self.cancel()
        return start + length

    def cancel(self):
        self.cancelled = True
        self.wake()
        if self.streaming:
            self.running.cancel()

    def arrived(self, piece, ended):
        # Without a request, these are the rest of a body whose request was answered early.
        if self.over or self.ended:
            return
        self.ended = ended
        if piece:
            self.pieces.append(piece)
            self.held += len(piece)
            if self.held > HELD:
                self.transport.pause_reading()
        self.wake()

    def start(self, head, piece, flags, ident):
        self.reset(bool(flags & END))
        self.id = ident
        self.over = False
        self.begin(self.serve(head.decode("latin-1").split("\0"), piece, ident))

    if sys.version_info >= (3, 12):

        def begin(self, coroutine):
            """Runs eagerly until the first wait, which saves most requests a turn of the loop."""
            asyncio.Task(coroutine, loop=self.loop, eager_start=True)

    else:

        def begin(self, coroutine):
            self.loop.create_task(coroutine)

    def wake(self):
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(None)

    # --- serving a request

    async def serve(self, head, piece, ident):
        request = Request(head, piece, None, ident)
        state.current.set(request)
        self.running = asyncio.current_task()
        try:
            await self.run(self, request)
        except BaseException as error:
            leave_if_child(error)
            await self.fail(request, error)

    async def fail(self, request, error):
        # An error after the response is only logged. The slot may serve another request by then.
        late = self.over or self.id != request._id
        if hasattr(error, "get_response") and hasattr(error, "code") and not late:
            return await self.send(request, *answer(error.get_response(), request))
        leave_if_asked(error)
        document, trace = load.complaint(error)
        flush()
        sys.stderr.write(trace)
        flush()
        if not late:
            self.over = True
            self.transport.resume_reading()
            payload = json.dumps(document).encode()
            self.transport.write(pack_frame(len(payload), ERROR, 0, 0, request._id) + payload)

    def is_over(self, request):
        """Whether the response is complete. The connection may already serve another request."""
        return self.over or self.id != request._id

    def close(self):
        """Called before the response is complete. The unread rest of the request is skipped."""
        flush()
        self.over = True
        if not self.ended:
            self.pieces.clear()
            self.held = 0
            self.transport.resume_reading()

    async def read(self, request):
        """Returns the next bytes of the body, or None if it is complete or the caller has left."""
        if self.id != request._id:
            raise Late()
        while not self.pieces:
            if self.ended or self.cancelled:
                return None
            await self.wait()
            if self.id != request._id:
                raise Late()
        piece = self.pieces.popleft()
        self.held -= len(piece)
        if self.held <= HELD:
            self.transport.resume_reading()
        return piece

    async def wait(self):
        """Waits for input."""
        self.waiter = self.loop.create_future()
        try:
            await self.waiter
        finally:
            self.waiter = None

    def respond(self, request, head, body, end=True):
        leave_if_child()
        if self.over or self.id != request._id:
            raise Late()
        if end:
            self.close()
        size = len(head)
        first = body[:PIECE]
        whole = len(body) == len(first)
        self.transport.write(
            pack_response(4 + size + len(first), RESPONSE, END if end and whole else 0, 0, self.id, size)
            + head
            + first
        )
        if not whole:
            self.write_pieces(body[PIECE:], end)

    def piece(self, request, body, end=False):
        leave_if_child()
        if self.over or self.id != request._id:
            raise Late()
        if end:
            self.close()
        self.write_pieces(body, end)

    def write_pieces(self, body, end):
        size = len(body)
        for at in range(0, max(size, 1), PIECE):
            part = body[at : at + PIECE]
            self.transport.write(pack_frame(len(part), BODY, END if end and at + PIECE >= size else 0, 0, self.id) + part)

    async def drain(self):
        if self.drained is not None:
            await self.drained

    async def send(self, request, head, body):
        """Sends a response with any kind of body."""
        silent = request._head[0] == "HEAD"
        if type(body) is bytes:
            if silent:
                head, body = with_length(head, len(body)), b""
            elif has_no_body(head):
                body = b""
            self.respond(request, head, body)
            return await self.drain()
        begun = False
        try:
            self.streaming = True
            if not (silent or has_no_body(head) or self.cancelled):
                async for piece in each(body):
                    piece = encoded(piece)
                    if not piece:
                        continue
                    if begun:
                        self.piece(request, piece)
                    else:
                        self.respond(request, head, piece, end=False)
                        begun = True
                    await self.drain()
        except asyncio.CancelledError:
            if not self.cancelled:
                raise
        finally:
            self.streaming = False
            await close(body)
        if begun:
            self.piece(request, b"", end=True)
        else:
            self.respond(request, head, b"")


async def close(body):
    closing = getattr(body, "aclose", None) or getattr(body, "close", None)
    if closing is not None:
        closing = closing()
        if inspect.isawaitable(closing):
            await closing


async def each(body):
    if hasattr(body, "__aiter__"):
        async for piece in body:
            yield piece
    else:
        for piece in body:
            yield piece
            await asyncio.sleep(0)
