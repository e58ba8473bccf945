"""Frames on a blocking socket: requests come in, responses go out. The common case is one poll, one recv and one send."""

import json
import select
import struct
from socket import MSG_DONTWAIT

INIT, READY, FAILED, REQUEST, BODY, RESPONSE, ERROR, CANCEL = range(1, 9)
END = 1
# Pieces of a large body. The server forwards frame by frame.
PIECE = 65536

pack_frame = struct.Struct("<IBBH").pack
unpack_frame = struct.Struct("<IBBH").unpack_from
pack_response = struct.Struct("<IBBHI").pack
unpack_request = struct.Struct("<IBBHI").unpack_from


class Cancelled(ConnectionAbortedError):
    """The caller went away before the request's body was complete."""

    def __init__(self):
        super().__init__("the caller went away before the request was complete")


class ProtocolError(Exception):
    pass


class Connection:
    """One slot: one request at a time."""

    __slots__ = ("sock", "wait", "recv", "sendall", "rest", "left", "last", "ended", "cancelled")

    def __init__(self, sock):
        self.sock = sock
        # The kernel wakes whoever is in a recv once more when the server has read the response: there is room to write again.
        # Whoever polls for input sleeps on.
        poll = select.poll()
        poll.register(sock, select.POLLIN)
        self.wait = poll.poll
        self.recv = sock.recv
        self.sendall = sock.sendall
        self.rest = b""  # received, not yet looked at
        self.left = 0  # bytes of the current frame that are still to come, or in `rest`
        self.last = False  # the current frame ends the request's body
        self.ended = True  # the request's body has been read whole
        self.cancelled = False

    # --- reading

    def next_request(self):
        """The next request as (head, first bytes of the body), or None at the end of the connection.

        What an answered request left unread, and cancels that came too late, are skipped.
        """
        data = self.rest
        if data or self.left:
            return self._next_request_slowly()
        self.wait()
        data = self.recv(PIECE)
        if len(data) >= 12:
            length, kind, flags, _, head = unpack_request(data)
            if kind == 4 and len(data) == 8 + length:
                self.cancelled = False
                self.ended = flags & 1
                head += 12
                return data[12:head].decode("latin-1").split("\0"), data[head:]
        if not data:
            return None
        self.rest = data
        return self._next_request_slowly()

    def _next_request_slowly(self):
        while self.left:
            if not self._take(PIECE):
                return None
        while True:
            if not self._have(8):
                return None
            length, kind, flags, _ = unpack_frame(self.rest)
            self.rest = self.rest[8:]
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
        piece = b""
        if self.left and self.rest:
            piece = self._take(self.left)
            self.ended = self.last and not self.left
        return text.split("\0"), piece

    def _have(self, count):
        """Receives until `rest` has that many bytes. False at the end of the connection."""
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
        """Some of the current frame's bytes, at most `limit`; nothing at the end of the connection."""
        data = self.rest
        most = self.left if self.left < limit else limit
        if data:
            taken = data[:most]
            self.rest = data[most:]
        else:
            taken = self.recv(most if most < PIECE else PIECE)
        self.left -= len(taken)
        return taken

    def read_body(self, limit=PIECE):
        """The next bytes of the request's body; none when it is complete."""
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
        if not self._have(8):
            raise Cancelled()
        length, kind, flags, _ = unpack_frame(self.rest)
        self.rest = self.rest[8:]
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
        """Whether the caller is known to have gone. Looks, does not wait; only once the request's body is complete."""
        if not self.cancelled and self.ended and not self.left:
            try:
                data = self.recv(64, MSG_DONTWAIT)
            except (BlockingIOError, InterruptedError):
                data = None
            if data is not None:
                self.rest += data
            if data == b"":
                self.cancelled = True
            elif len(self.rest) >= 8 and unpack_frame(self.rest)[1] == CANCEL:
                self.rest = self.rest[8:]
                self.cancelled = True
        return self.cancelled

    # --- writing

    def respond(self, head, body):
        """A whole response."""
        size = len(head)
        length = len(body)
        if length <= PIECE:
            self.sendall(pack_response(4 + size + length, 6, 1, 0, size) + head + body)
            return
        view = memoryview(body)
        self.sendall(pack_response(4 + size + PIECE, RESPONSE, 0, 0, size) + head + view[:PIECE])
        self._pieces(view[PIECE:], END)

    def begin(self, head, body=b""):
        """The head of a response whose body follows, and its first bytes."""
        size = len(head)
        first = body[:PIECE]
        self.sendall(pack_response(4 + size + len(first), RESPONSE, 0, 0, size) + head + first)
        if len(body) > PIECE:
            self._pieces(memoryview(body)[PIECE:], 0)

    def piece(self, body):
        if len(body) <= PIECE:
            self.sendall(pack_frame(len(body), BODY, 0, 0) + body)
        else:
            self._pieces(memoryview(body), 0)

    def end(self):
        self.sendall(pack_frame(0, BODY, END, 0))

    def _pieces(self, view, flag):
        size = len(view)
        for at in range(0, size, PIECE):
            part = view[at : at + PIECE]
            self.sendall(pack_frame(len(part), BODY, flag if at + PIECE >= size else 0, 0) + part)

    def message(self, kind, document):
        payload = json.dumps(document).encode()
        self.sendall(pack_frame(len(payload), kind, 0, 0) + payload)

    def read_message(self, kind):
        if not self._have(8):
            return None
        length, found, _, _ = unpack_frame(self.rest)
        if found != kind:
            raise ProtocolError("a frame of kind %d came where kind %d was due" % (found, kind))
        if not self._have(8 + length):
            return None
        payload = self.rest[8 : 8 + length]
        self.rest = self.rest[8 + length :]
        return json.loads(payload)
