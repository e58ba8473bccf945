"""Frames on a blocking socket. The common case is one poll, one recv and one send."""

import json
import select
import struct
from socket import MSG_DONTWAIT

from .children import own

INIT, READY, FAILED, REQUEST, BODY, RESPONSE, ERROR, CANCEL = range(1, 9)
END = 1
# The size of the pieces of a large body. The server forwards frame by frame.
PIECE = 65536

# Payload length, kind, flags, zero, request id. Requests and responses continue with the length of
# their head.
HEADER = 16
pack_frame = struct.Struct("<IBBHQ").pack
unpack_frame = struct.Struct("<IBBHQ").unpack_from
pack_response = struct.Struct("<IBBHQI").pack
unpack_request = struct.Struct("<IBBHQI").unpack_from


class Cancelled(ConnectionAbortedError):
    """The caller left before the request's body was complete."""

    def __init__(self):
        super().__init__("the caller went away before the request was complete")


class ProtocolError(Exception):
    pass


class Late(RuntimeError):
    """A thread or task that outlived its request used the request's connection."""

    def __init__(self):
        super().__init__("the response to this request is complete")


class Connection:
    """One slot: one request at a time."""

    __slots__ = ("sock", "wait", "recv", "sendall", "rest", "left", "last", "ended", "cancelled", "id")

    def __init__(self, sock):
        self.sock = sock
        own(sock)
        self.id = 0  # of the current request, 0 between requests
        # The kernel also wakes a blocked recv when the server has read the response and there is
        # room to write again. A poll for input is not woken.
        poll = select.poll()
        poll.register(sock, select.POLLIN)
        self.wait = poll.poll
        self.recv = sock.recv
        self.sendall = sock.sendall
        self.rest = b""  # received, not parsed yet
        self.left = 0  # remaining bytes of the current frame, including those in `rest`
        self.last = False  # the current frame ends the request's body
        self.ended = True  # the request's body was read completely
        self.cancelled = False

    # --- reading

    def next_request(self):
        """Returns the next request as (head, first bytes of the body), or None at the end of the
        connection.

        Skips the unread rest of an answered request, and late cancels.
        """
        data = self.rest
        if data or self.left:
            return self._next_request_slowly()
        self.wait()
        data = self.recv(PIECE)
        if len(data) >= 20:
            length, kind, flags, _, ident, head = unpack_request(data)
            if kind == 4 and len(data) == 16 + length:
                self.cancelled = False
                self.ended = flags & 1
                self.id = ident
                head += 20
                return data[20:head].decode("latin-1").split("\0"), data[head:]
        if not data:
            return None
        self.rest = data
        return self._next_request_slowly()

    def _next_request_slowly(self):
        while self.left:
            if not self._take(PIECE):
                return None
        while True:
            if not self._have(HEADER):
                return None
            length, kind, flags, _, ident = unpack_frame(self.rest)
            self.rest = self.rest[HEADER:]
            self.left = length
            if kind == REQUEST:
                break
            if kind not in (BODY, CANCEL):
                raise ProtocolError("a frame of kind %d came where a request was due" % kind)
            while self.left:
                if not self._take(PIECE):
                    return None
        if not self._have(4):
            return None
        head = int.from_bytes(self.rest[:4], "little")
        if not self._have(4 + head):
            return None
        text = self.rest[4 : 4 + head].decode("latin-1")
        self.rest = self.rest[4 + head :]
        self.left = length - 4 - head
        self.last = bool(flags & END)
        self.ended = self.last and not self.left
        self.cancelled = False
        self.id = ident
        piece = b""
        if self.left and self.rest:
            piece = self._take(self.left)
            self.ended = self.last and not self.left
        return text.split("\0"), piece

    def _have(self, count):
        """Receives until `rest` has `count` bytes. Returns False at the end of the connection."""
        if len(self.rest) >= count:
            return True
        parts = [self.rest]
        have = len(self.rest)
        while have < count:
            data = self.recv(PIECE)
            if not data:
                return False
            parts.append(data)
            have += len(data)
        self.rest = b"".join(parts)
        return True

    def _take(self, limit):
        """Returns at most `limit` bytes of the current frame, none at the end of the connection."""
        data = self.rest
        most = self.left if self.left < limit else limit
        if data:
            taken = data[:most]
            self.rest = data[most:]
        else:
            taken = self.recv(most if most < PIECE else PIECE)
        self.left -= len(taken)
        return taken

    def read_body(self, ident, limit=PIECE):
        """Returns the next bytes of the request's body, none when it is complete."""
        if ident != self.id:
            raise Late()
        while not self.left:
            if self.cancelled:
                raise Cancelled()
            if self.ended:
                return b""
            self._next_body_frame()
        data = self._take(limit)
        if not data:
            raise Cancelled()
        if not self.left and self.last:
            self.ended = True
        return data

    def _next_body_frame(self):
        if not self._have(HEADER):
            raise Cancelled()
        length, kind, flags, _, _ = unpack_frame(self.rest)
        self.rest = self.rest[HEADER:]
        if kind == CANCEL:
            self.cancelled = True
            self.ended = True
            self.left = length
            return
        if kind != BODY:
            raise ProtocolError("a frame of kind %d came inside a request's body" % kind)
        self.left = length
        self.last = bool(flags & END)
        self.ended = self.last and not length

    def is_cancelled(self):
        """Whether the caller is known to have left. Checks without blocking, once the request's
        body is complete."""
        if not self.cancelled and self.ended and not self.left:
            try:
                data = self.recv(64, MSG_DONTWAIT)
            except (BlockingIOError, InterruptedError):
                data = None
            if data is not None:
                self.rest += data
            if data == b"":
                self.cancelled = True
            elif len(self.rest) >= HEADER and unpack_frame(self.rest)[1] == CANCEL:
                self.rest = self.rest[HEADER:]
                self.cancelled = True
        return self.cancelled

    # --- writing: `ident` is the id of the answered request, which must be the current one

    def respond(self, ident, head, body):
        """Sends a whole response."""
        if ident != self.id:
            raise Late()
        self.id = 0
        size = len(head)
        length = len(body)
        if length <= PIECE:
            self.sendall(pack_response(4 + size + length, 6, 1, 0, ident, size) + head + body)
            return
        view = memoryview(body)
        self.sendall(pack_response(4 + size + PIECE, RESPONSE, 0, 0, ident, size) + head + view[:PIECE])
        self._pieces(ident, view[PIECE:], END)

    def begin(self, ident, head, body=b""):
        """Sends the head of a streamed response and the first bytes of its body."""
        if ident != self.id:
            raise Late()
        size = len(head)
        first = body[:PIECE]
        self.sendall(pack_response(4 + size + len(first), RESPONSE, 0, 0, ident, size) + head + first)
        if len(body) > PIECE:
            self._pieces(ident, memoryview(body)[PIECE:], 0)

    def piece(self, ident, body):
        if ident != self.id:
            raise Late()
        if len(body) <= PIECE:
            self.sendall(pack_frame(len(body), BODY, 0, 0, ident) + body)
        else:
            self._pieces(ident, memoryview(body), 0)

    def end(self, ident):
        if ident != self.id:
            raise Late()
        self.id = 0
        self.sendall(pack_frame(0, BODY, END, 0, ident))

    def _pieces(self, ident, view, flag):
        size = len(view)
        for at in range(0, size, PIECE):
            part = view[at : at + PIECE]
            self.sendall(pack_frame(len(part), BODY, flag if at + PIECE >= size else 0, 0, ident) + part)

    def fail(self, ident, document):
        """Sends an error instead of a response, or of the rest of one."""
        if ident != self.id:
            raise Late()
        self.id = 0
        self.message(ERROR, document, ident)

    def message(self, kind, document, ident=0):
        payload = json.dumps(document).encode()
        self.sendall(pack_frame(len(payload), kind, 0, 0, ident) + payload)

    def read_message(self, kind):
        if not self._have(HEADER):
            return None
        length, found, _, _, _ = unpack_frame(self.rest)
        if found != kind:
            raise ProtocolError("a frame of kind %d came where kind %d was due" % (found, kind))
        if not self._have(HEADER + length):
            return None
        payload = self.rest[HEADER : HEADER + length]
        self.rest = self.rest[HEADER + length :]
        return json.loads(payload)
