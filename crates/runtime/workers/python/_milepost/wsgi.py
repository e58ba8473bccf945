"""WSGI applications, and the environment that Flask makes its request of."""

import sys
from urllib.parse import unquote_to_bytes

from . import loop, state
from .encode import encoded, head

# What a header is called in the environment; nothing for a fact.
_names = {"content-type": "CONTENT_TYPE", "content-length": "CONTENT_LENGTH", ":client": "REMOTE_ADDR"}


def _unquoted(path):
    return unquote_to_bytes(path.encode("latin-1")).decode("latin-1") if "%" in path else path


def environ(request):
    path, query = request._target
    mount = request._mount
    host = request.host
    name, colon, port = host.rpartition(":")
    scheme = request.scheme
    if not colon or not port.isdigit():
        name, port = host, "443" if scheme == "https" else "80"
    found = {
        "REQUEST_METHOD": request._head[0],
        "SCRIPT_NAME": _unquoted(mount),
        "PATH_INFO": _unquoted(path),
        "QUERY_STRING": query,
        "REQUEST_URI": mount + request._head[1],
        "RAW_URI": mount + request._head[1],
        "SERVER_NAME": name,
        "SERVER_PORT": port,
        "SERVER_PROTOCOL": "HTTP/1.1",
        "SERVER_SOFTWARE": "milepost",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scheme,
        "wsgi.input": request.stream,
        "wsgi.input_terminated": True,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": state.threads > 1,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        "milepost.request": request,
    }
    fields = request._head
    for key, value in zip(fields[2::2], fields[3::2]):
        known = _names.get(key)
        if known is None:
            known = "" if key[0] == ":" else "HTTP_" + key.upper().replace("-", "_")
            if len(_names) < 1000:
                _names[key] = known
        if not known:
            continue
        if known in found:
            value = found[known] + ("; " if known == "HTTP_COOKIE" else ",") + value
        found[known] = value
    # The caller's host: links that the application makes lead back to where it was called.
    found["HTTP_HOST"] = host
    return found


class Start:
    """`start_response` of one request."""

    __slots__ = ("head", "connection", "begun", "request")

    def __init__(self, connection, request):
        self.head = None
        self.connection = connection
        self.request = request
        self.begun = False

    def __call__(self, status, headers, exc_info=None):
        if exc_info is not None:
            try:
                if self.begun:
                    raise exc_info[1].with_traceback(exc_info[2])
            finally:
                exc_info = None
        elif self.head is not None:
            raise AssertionError("start_response was called twice")
        self.head = head(int(status.split(None, 1)[0]), headers)
        return self.write

    def write(self, data):
        data = encoded(data)
        if self.connection is None:
            raise RuntimeError("write() cannot be used here; return the body")
        if self.request._head[0] == "HEAD" or not data:
            return
        if self.begun:
            self.connection.piece(self.request._id, data)
        else:
            self.begun = True
            self.connection.begin(self.request._id, self.head, data)


class Wsgi:
    def __init__(self, app):
        self.app = app

    def handle(self, connection, request):
        start = Start(connection, request)
        result = self.app(environ(request), start)
        kind = type(result)
        if (kind is list or kind is tuple) and not start.begun and len(result) == 1 and start.head is not None:
            loop.send(connection, request, start.head, encoded(result[0]))
            return
        self.stream(connection, request, start, result)

    def stream(self, connection, request, start, result):
        silent = request._head[0] == "HEAD"
        try:
            for piece in result:
                if silent or not piece:
                    continue
                start.write(piece)
                if connection.is_cancelled():
                    break
        finally:
            close = getattr(result, "close", None)
            if close is not None:
                close()
        if start.head is None:
            raise AssertionError("the application returned without calling start_response")
        loop.flush()
        if start.begun:
            connection.end(request._id)
        else:
            connection.respond(request._id, start.head, b"")


def collect(app, request):
    """Runs something that is an application itself, such as another framework's response object, as (head, body)."""
    start = Start(None, request)
    result = app(environ(request), start)
    if start.head is None:
        raise TypeError("the function returned %s, which is not a response" % type(app).__name__)
    if isinstance(result, (list, tuple)):
        body = b"".join(encoded(piece) for piece in result)
        close = getattr(result, "close", None)
        if close is not None:
            close()
        return start.head, body
    return start.head, result
