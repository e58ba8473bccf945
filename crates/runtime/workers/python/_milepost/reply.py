"""Responses: what functions make them of, and the `Response` that stands in for Flask's."""

import dataclasses
import datetime
import decimal
import html
import json
import re
import uuid
from email.utils import format_datetime, formatdate
from http import HTTPStatus
from urllib.parse import quote

from .values import Headers

HTML = "text/html; charset=utf-8"
JSON = "application/json"
HTML_HEAD = b"200\0content-type\0text/html; charset=utf-8"
JSON_HEAD = b"200\0content-type\0application/json"

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+").fullmatch
_BROKEN = re.compile("[\0\r\n]").search
_names = {}


def head(status, pairs):
    """A response's head in bytes. Headers that could be taken for more than one are refused."""
    parts = [b"%d" % status]
    for name, value in pairs:
        known = _names.get(name)
        if known is None:
            known = _name(name)
        if type(value) is not str:
            value = value.decode("latin-1") if isinstance(value, bytes) else str(value)
        if _BROKEN(value):
            raise ValueError("the header %s has a line break or a NUL in its value" % name)
        parts.append(known)
        try:
            parts.append(value.encode("latin-1"))
        except UnicodeEncodeError:
            parts.append(value.encode("utf-8"))
    return b"\0".join(parts)


def _name(name):
    text = name.decode("latin-1") if isinstance(name, bytes) else str(name)
    if not _TOKEN(text):
        raise ValueError("%r is not the name of a header" % text)
    encoded = text.lower().encode("ascii")
    if len(_names) < 1000:
        _names[name] = encoded
    return encoded


def _plain(value):
    """What JSON does not know, as Flask writes it."""
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            value = value.replace(tzinfo=datetime.timezone.utc)
        return format_datetime(value.astimezone(datetime.timezone.utc), usegmt=True)
    if isinstance(value, datetime.date):
        return _plain(datetime.datetime(value.year, value.month, value.day))
    if isinstance(value, (decimal.Decimal, uuid.UUID)):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if hasattr(value, "__html__"):
        return str(value.__html__())
    raise TypeError("%s is not something that JSON can say" % type(value).__name__)


dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_plain).encode


def reason(status):
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"


class Response:
    default_mimetype = "text/html"
    default_status = 200

    def __init__(self, response=None, status=None, headers=None, mimetype=None, content_type=None, direct_passthrough=False):
        self.headers = Headers(headers or ())
        self.status = self.default_status if status is None else status
        self.response = b"" if response is None else response
        if content_type is not None:
            self.headers["content-type"] = content_type
        elif mimetype is not None or "content-type" not in self.headers:
            self.mimetype = mimetype or self.default_mimetype

    @property
    def status(self):
        return "%d %s" % (self.status_code, reason(self.status_code).upper())

    @status.setter
    def status(self, status):
        if isinstance(status, (str, bytes)):
            status = int(status.split()[0])
        self.status_code = int(status)

    @property
    def data(self):
        return self.get_data()

    @data.setter
    def data(self, data):
        self.response = data

    set_data = data.fset

    def get_data(self, as_text=False):
        if not isinstance(self.response, (str, bytes)):
            self.response = b"".join(encoded(piece) for piece in self.response)
        data = encoded(self.response)
        return data.decode("utf-8") if as_text else data

    def get_json(self, force=False, silent=False):
        return json.loads(self.get_data())

    @property
    def json(self):
        return self.get_json()

    @property
    def mimetype(self):
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @mimetype.setter
    def mimetype(self, kind):
        text = kind.startswith("text/") or kind in ("application/javascript", "application/xml") or kind.endswith("+xml")
        self.headers["content-type"] = kind + "; charset=utf-8" if text and "charset" not in kind else kind

    @property
    def content_type(self):
        return self.headers.get("content-type")

    @content_type.setter
    def content_type(self, kind):
        self.headers["content-type"] = kind

    @property
    def location(self):
        return self.headers.get("location")

    @location.setter
    def location(self, location):
        self.headers["location"] = location

    def set_cookie(self, key, value="", max_age=None, expires=None, path="/", domain=None, secure=False,
                   httponly=False, samesite=None, partitioned=False):  # fmt: skip
        parts = [key + "=" + _cookie_value(value)]
        if domain:
            parts.append("Domain=" + domain.lstrip("."))
        if expires is not None:
            if isinstance(expires, datetime.datetime):
                expires = _plain(expires)
            elif not isinstance(expires, str):
                expires = formatdate(expires, usegmt=True)
            parts.append("Expires=" + expires)
        if max_age is not None:
            seconds = max_age.total_seconds() if isinstance(max_age, datetime.timedelta) else max_age
            parts.append("Max-Age=%d" % seconds)
        if secure:
            parts.append("Secure")
        if httponly:
            parts.append("HttpOnly")
        if path is not None:
            parts.append("Path=" + path)
        if samesite:
            parts.append("SameSite=" + samesite.title())
        if partitioned:
            parts.append("Partitioned")
        self.headers.add("set-cookie", "; ".join(parts))

    def delete_cookie(self, key, path="/", domain=None, **options):
        self.set_cookie(key, expires=0, max_age=0, path=path, domain=domain, **options)

    def __repr__(self):
        return "<Response %s>" % self.status


def _cookie_value(value):
    """As Flask writes it: octal escapes in quotes for what a cookie may not hold."""
    if re.fullmatch(r"[\w!#$%&'()*+\-./:<=>?@\[\]^`{|}~]*", value, re.ASCII):
        return value
    out = []
    for byte in value.encode("utf-8"):
        if byte in b'"\\':
            out.append("\\" + chr(byte))
        elif byte in b",;" or byte < 32 or byte > 126:
            out.append("\\%03o" % byte)
        else:
            out.append(chr(byte))
    return '"%s"' % "".join(out)


class HTTPException(Exception):
    """Raised by `abort`: it is an answer, not a fault."""

    def __init__(self, status, description=None, response=None):
        self.code = status
        self.description = description or _descriptions.get(status, reason(status))
        self.response = response
        super().__init__("%d %s: %s" % (status, reason(status), self.description))

    @property
    def name(self):
        return reason(self.code)

    def get_response(self, environ=None):
        if self.response is not None:
            return self.response
        name = html.escape(self.name)
        text = "<!doctype html>\n<html lang=en>\n<title>%d %s</title>\n<h1>%s</h1>\n<p>%s</p>\n" % (
            self.code, name, name, html.escape(str(self.description)),
        )  # fmt: skip
        return Response(text, self.code)


_descriptions = {
    400: "The browser (or proxy) sent a request that this server could not understand.",
    401: "The server could not verify that you are authorized to access the URL requested.",
    403: "You don't have the permission to access the requested resource.",
    404: "The requested URL was not found on the server.",
    405: "The method is not allowed for the requested URL.",
    500: "The server encountered an internal error and was unable to complete your request.",
}


def encoded(piece):
    if type(piece) is bytes:
        return piece
    if isinstance(piece, str):
        return piece.encode("utf-8")
    if isinstance(piece, (bytearray, memoryview)):
        return bytes(piece)
    raise TypeError("a piece of a response's body is %s; it must be str or bytes" % type(piece).__name__)


def answer(result, request=None):
    """A function's result, as Flask understands it, as (head, body). The body is bytes, an iterator or an async iterator."""
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
        raise TypeError("a tuple is (body, status), (body, status, headers) or (body, headers); this one has %d" % len(result))
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


def jsonify(*values, **named):
    if values and named:
        raise TypeError("jsonify takes positional or named values, not both")
    return Response(dumps(named or (values[0] if len(values) == 1 else list(values))) + "\n", mimetype=JSON)


def abort(status, description=None, response=None):
    if isinstance(status, Response):
        raise HTTPException(status.status_code, response=status)
    raise HTTPException(int(status), description, response)


def redirect(location, code=302, Response=Response):
    shown = html.escape(location)
    text = "<!doctype html>\n<html lang=en>\n<title>Redirecting...</title>\n<h1>Redirecting...</h1>\n" \
        '<p>You should be redirected automatically to the target URL: <a href="%s">%s</a>.\n' % (shown, shown)  # fmt: skip
    return Response(text, code, {"location": quote(location, safe="!#$%&'()*+,/:;=?@[]~")})
