"""The `Response` of the Flask stand-in, and functions that make one: `abort`, `redirect`,
`jsonify`."""

import datetime
import html
import json
import re
from email.utils import formatdate
from http import HTTPStatus
from urllib.parse import quote

from .encode import JSON, dumps, encoded, plain
from .values import Headers


def reason(status):
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"


class Response:
    default_mimetype = "text/html"
    default_status = 200

    def __init__(
        self, response=None, status=None, headers=None, mimetype=None, content_type=None, direct_passthrough=False
    ):
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
        text = (
            kind.startswith("text/") or kind in ("application/javascript", "application/xml") or kind.endswith("+xml")
        )
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
                expires = plain(expires)
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
    """Like Flask: quotes values with disallowed characters, as octal escapes."""
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
    """Raised by `abort`. It is a response rather than an error."""

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
