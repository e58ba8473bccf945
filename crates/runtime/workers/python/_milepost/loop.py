"""Serves blocking functions: one thread per connection, the first one on the main thread."""

import sys
import threading

from . import load, state
from .children import leave_if_child
from .encode import encoded
from .reply import answer
from .web import Request
from .wire import READY, Connection


def serve(convention):
    """Returns the serve function for a convention, an object with `handle(connection, request)`."""

    def run(connection, listener, ready):
        if state.threads > 1:
            threading.Thread(target=accept, args=(listener, convention), name="milepost-accept", daemon=True).start()
        leave_if_child()
        connection.message(READY, ready)
        requests(connection, convention)

    return run


def accept(listener, convention):
    count = 1
    while True:
        sock, _ = listener.accept()
        count += 1
        threading.Thread(
            target=requests, args=(Connection(sock), convention), name="milepost-%d" % count, daemon=True
        ).start()


def requests(connection, convention):
    """Serves one connection until it closes."""
    next_request = connection.next_request
    set_current = state.current.set
    while True:
        try:
            found = next_request()
        except OSError:
            leave_if_child()
            return
        if found is None:
            return
        request = Request(found[0], found[1], connection, connection.id)
        set_current(request)
        try:
            convention.handle(connection, request)
        except BaseException as error:
            leave_if_child(error)
            if not fail(connection, request, error):
                return


def fail(connection, request, error):
    """Responds for a function that raised. Returns False if the connection is gone."""
    try:
        if hasattr(error, "get_response") and hasattr(error, "code") and request._id == connection.id:
            send(connection, request, *answer(error.get_response(), request))
            return True
        leave_if_asked(error)
        document, trace = load.complaint(error)
        flush()
        sys.stderr.write(trace)
        flush()
        # An error after the end of the response is only logged.
        if request._id == connection.id:
            connection.fail(request._id, document)
        return True
    except OSError:
        return False


def leave_if_asked(error):
    """Makes `sys.exit()` end the process, whatever thread calls it."""
    if isinstance(error, SystemExit):
        from .start import leave

        if isinstance(error.code, str):
            sys.stderr.write(error.code + "\n")
        leave(error.code if isinstance(error.code, int) else 0 if error.code is None else 1)


def flush():
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (AttributeError, ValueError, OSError):
        pass


def has_no_body(head):
    return head.startswith((b"204", b"304", b"1"))


def send(connection, request, head, body):
    """Sends a response with any kind of body."""
    if type(body) is bytes:
        if request._head[0] == "HEAD":
            head, body = with_length(head, len(body)), b""
        elif has_no_body(head):
            body = b""
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (AttributeError, ValueError, OSError):
            pass
        connection.respond(request._id, head, body)
    elif hasattr(body, "__aiter__"):
        from .aio import drained

        stream(connection, request, head, drained(body))
    else:
        stream(connection, request, head, body)


def with_length(head, length):
    """Adds the length that the body would have to the head of a response to HEAD."""
    if b"\0content-length\0" in head or has_no_body(head):
        return head
    return head + b"\0content-length\0%d" % length


def stream(connection, request, head, pieces):
    """Sends each piece when it is available. The head goes with the first, so that an earlier error
    still becomes a 500."""
    begun = False
    try:
        if request._head[0] == "HEAD" or has_no_body(head):
            pieces_left = ()
        else:
            pieces_left = pieces
        for piece in pieces_left:
            piece = encoded(piece)
            if not piece:
                continue
            if begun:
                connection.piece(request._id, piece)
            else:
                connection.begin(request._id, head, piece)
                begun = True
            if connection.is_cancelled():
                break
    finally:
        close = getattr(pieces, "close", None)
        if close is not None:
            close()
    flush()
    if begun:
        connection.end(request._id)
    else:
        connection.respond(request._id, head, b"")
