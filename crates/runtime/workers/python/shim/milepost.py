"""For functions on Milepost: the release's configuration, the function's secrets, and calls to
other functions.

import milepost
milepost.config["greeting"]
milepost.secret("DATABASE_URL")
milepost.call("orders", "/7", json={"paid": True}).json()
"""

import asyncio as _asyncio
import contextvars as _contextvars
import http.client as _client
import json as _json
import os as _os
import select as _select
import socket as _socket
import threading as _threading
from urllib.parse import quote as _quote
from urllib.parse import urlencode as _urlencode

from _milepost import state as _state

config = _state.config
# Characters that a browser does not escape in a URL. Includes `%`, so that escaped text is not
# escaped again.
_PLAIN = "%/?:@!$&'()*+,;=[]|^\\"
_connections = _threading.local()


class CallError(Exception):
    """The other function could not be reached."""


def secret(name):
    """Returns the value of a secret that this function declares."""
    try:
        return _state.secrets[name]
    except KeyError:
        known = ", ".join(sorted(_state.secrets)) or "none"
        raise KeyError("this function has no secret %r; it declares: %s" % (name, known)) from None


def request_id():
    """Returns the id of the current request, as in the logs."""
    return _fact(":id")


def _fact(name):
    request = _state.current.get(None)
    return "" if request is None else request.header(name, "")


class Response:
    def __init__(self, status, headers, body):
        self.status = self.status_code = status
        self.headers = headers
        self.body = self.data = self.content = body

    @property
    def ok(self):
        return self.status < 400

    @property
    def text(self):
        return self.body.decode("utf-8", "replace")

    def json(self):
        return _json.loads(self.body)

    def raise_for_status(self):
        if not self.ok:
            raise CallError("the call was answered with %d: %s" % (self.status, self.text[:200]))
        return self

    def __repr__(self):
        return "<Response %d, %d bytes>" % (self.status, len(self.body))


class _UnixConnection(_client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self._path = path

    def connect(self):
        self.sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _connection(address):
    found = getattr(_connections, "found", None)
    if found is None or found[0] != address:
        made = _UnixConnection(address[5:]) if address.startswith("unix:") else _client.HTTPConnection(address)
        found = _connections.found = (address, made)
    return found[1]


def _target(function, path, params):
    target = "/.milepost/call/%s/" % _quote(function, safe="", errors="replace")
    target += _quote(path.lstrip("/").partition("#")[0], safe=_PLAIN, errors="replace")
    if params:
        target += ("&" if "?" in target else "?") + _urlencode(params, doseq=True)
    return target


def _header(value):
    """Encodes a header value as Latin-1, or as UTF-8 if it does not fit."""
    try:
        return value.encode("latin-1") if isinstance(value, str) else value
    except UnicodeEncodeError:
        return value.encode("utf-8", "replace")


def call(function, path="", method=None, json=None, data=None, headers=None, params=None, timeout=None):
    """Calls another function of the same release, independent of its routes. Sends GET, or POST
    with a body."""
    address = _os.environ.get("MILEPOST_GATEWAY")
    if not address:
        raise CallError("MILEPOST_GATEWAY is not set: calls to other functions are not possible here")
    fields = {name.lower(): _header(value) for name, value in (headers or {}).items()}
    body = data
    if json is not None:
        body = _json.dumps(json).encode()
        fields.setdefault("content-type", "application/json")
    elif isinstance(data, dict):
        body = _urlencode(data, doseq=True).encode()
        fields.setdefault("content-type", "application/x-www-form-urlencoded")
    elif isinstance(data, str):
        body = data.encode()
    fields["milepost-call"] = _fact(":call")
    target = _target(function, path, params)
    method = method or ("GET" if body is None else "POST")
    connection = _connection(address)
    connection.timeout = timeout
    if connection.sock is not None:
        if _select.select([connection.sock], [], [], 0)[0]:
            # An idle connection has no input unless it was closed.
            connection.close()
        else:
            connection.sock.settimeout(timeout)
    try:
        connection.request(method, target, body, fields)
        answer = connection.getresponse()
        return Response(answer.status, answer.headers, answer.read())
    except BaseException as error:
        # The connection may be in the middle of a request or response, so this thread's next call
        # must not reuse it.
        connection.close()
        if not isinstance(error, (OSError, _client.HTTPException)):
            raise
        raise CallError("the function %s could not be called: %s" % (function, error)) from error


async def call_async(*arguments, **named):
    """Like `call`, without blocking the event loop."""
    context = _contextvars.copy_context()
    loop = _asyncio.get_running_loop()
    return await loop.run_in_executor(None, lambda: context.run(call, *arguments, **named))
