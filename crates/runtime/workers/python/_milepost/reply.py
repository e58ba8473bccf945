"""Turns the results of functions into responses."""

import dataclasses

from .encode import HTML, HTML_HEAD, JSON, JSON_HEAD, dumps, encoded, head
from .response import Response
from .values import Headers


def answer(result, request=None):
    """Converts a result, as Flask interprets it, to (head, body). The body is bytes, an iterator or
    an async iterator."""
    kind = type(result)
    if kind is str:
        return HTML_HEAD, result.encode("utf-8")
    if kind is dict or kind is list:
        return JSON_HEAD, dumps(result).encode("utf-8")
    if kind is tuple:
        return _from_tuple(result, request)
    if kind is bytes:
        return HTML_HEAD, result
    if isinstance(result, Response):
        return _from_response(result)
    if result is None:
        return b"204", b""
    if callable(result) and not hasattr(result, "__next__"):
        from .wsgi import collect

        return collect(result, request)
    return HTML_HEAD if is_text(result) else JSON_HEAD, body_of(result)


def is_text(value):
    return isinstance(value, (str, bytes, bytearray, memoryview)) or is_stream(value)


def is_stream(value):
    return hasattr(value, "__next__") or hasattr(value, "__aiter__") or hasattr(value, "read")


def body_of(value):
    if isinstance(value, (str, bytes, bytearray, memoryview)):
        return encoded(value)
    if value is None:
        return b""
    if hasattr(value, "read"):
        return iter(lambda: value.read(65536) or None, None)
    if is_stream(value):
        return value
    if isinstance(value, (dict, list, int, float)) or dataclasses.is_dataclass(value):
        return dumps(value).encode("utf-8")
    raise TypeError(
        "the function returned %s; it can return text, bytes, a dict or list, (body, status, headers), a Response, an "
        "iterator of text or bytes, or None" % type(value).__name__
    )


def _from_response(response):
    body = response.response
    if isinstance(body, (str, bytes, bytearray)):
        body = encoded(body)
    elif not is_stream(body):
        body = iter(body)
    return head(response.status_code, response.headers._pairs), body


def _from_tuple(result, request):
    status, headers = None, ()
    if len(result) == 3:
        body, status, headers = result
    elif len(result) == 2:
        body, second = result
        if isinstance(second, (int, str)):
            status = second
        else:
            headers = second
    else:
        raise TypeError(
            "a tuple is (body, status), (body, status, headers) or (body, headers); this one has %d" % len(result)
        )
    if isinstance(status, str):
        status = status.split()[0]
    pairs = Headers(headers or ())
    if isinstance(body, Response) or (callable(body) and not is_stream(body)):
        found, body = answer(body, request)
        fields = found.decode("latin-1").split("\0")
        ours = Headers(zip(fields[1::2], fields[2::2]))
        ours.update(pairs)
        return head(int(status) if status is not None else int(fields[0]), ours._pairs), body
    if "content-type" not in pairs and body is not None:
        pairs.add("content-type", HTML if is_text(body) else JSON)
    return head(int(status) if status is not None else 200, pairs._pairs), body_of(body)


def make_response(*parts):
    if len(parts) == 1 and isinstance(parts[0], Response):
        return parts[0]
    found, body = answer(parts[0] if len(parts) == 1 else parts) if parts else (HTML_HEAD, b"")
    fields = found.decode("latin-1").split("\0")
    return Response(body, int(fields[0]), list(zip(fields[1::2], fields[2::2])))
