"""The request that functions get: the subset of Flask's that functions use, parsed lazily from the
head."""

import io
import json
from functools import cached_property
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, unquote_to_bytes

from . import forms
from .values import Headers, MultiDict


class RawBody(io.RawIOBase):
    """The body as a raw stream, to read piece by piece."""

    def __init__(self, request):
        self._request = request

    def readable(self):
        return True

    def readinto(self, buffer):
        request = self._request
        piece = request._piece
        if piece:
            size = min(len(piece), len(buffer))
            buffer[:size] = piece[:size]
            request._piece = piece[size:]
            return size
        data = request._connection.read_body(request._id, len(buffer))
        buffer[: len(data)] = data
        return len(data)


class Request:
    def __init__(self, head, piece, connection, ident):
        self._id = ident  # carried by the response
        self._head = head
        self._piece = piece
        self._connection = connection
        self._stream = None
        self._data = None

    # --- the first line

    @property
    def method(self):
        return self._head[0]

    @cached_property
    def _target(self):
        """Path and query as received, without scheme and host."""
        target = self._head[1]
        if not target.startswith("/"):
            rest = target.partition("://")[2]
            target = "/" + rest.partition("/")[2] if rest else "/"
        path, _, query = target.partition("?")
        return path, query

    @cached_property
    def path(self):
        return unquote_to_bytes(self._target[0].encode("latin-1")).decode("utf-8", "replace")

    @property
    def query_string(self):
        return self._target[1].encode("latin-1")

    @cached_property
    def args(self):
        query = self._target[1]
        if not query:
            return MultiDict()
        # Unescaped bytes above ASCII are read as UTF-8, like the escaped ones.
        return MultiDict(parse_qsl(utf8(query), keep_blank_values=True))

    @property
    def full_path(self):
        return self.path + "?" + self._target[1]

    @cached_property
    def _mount(self):
        """The stripped prefix of the path, as received."""
        prefix = (self.header("x-forwarded-prefix") or "").rstrip("/")
        return prefix if prefix.startswith("/") else ""

    @property
    def script_root(self):
        return unquote_to_bytes(self._mount.encode("latin-1")).decode("utf-8", "replace")

    root_path = script_root

    # --- headers and facts

    @cached_property
    def _pairs(self):
        """Headers and facts, as received."""
        head = self._head
        return list(zip(head[2::2], head[3::2]))

    @cached_property
    def facts(self):
        return {name: value for name, value in self._pairs if name.startswith(":")}

    @cached_property
    def headers(self):
        return Headers(pair for pair in self._pairs if not pair[0].startswith(":"))

    def header(self, name, default=None):
        """Returns one header by its lower-case name, without parsing the others."""
        head = self._head
        try:
            at = 2
            while True:
                at = head.index(name, at)
                if not at & 1:
                    return head[at + 1]
                at += 1
        except (ValueError, IndexError):
            return default

    @cached_property
    def view_args(self):
        found = {}
        for at, name in enumerate(self._head[2::2]):
            if name[:7] == ":param.":
                found[utf8(name[7:])] = utf8(self._head[2 * at + 3])
        return found

    @property
    def url_rule(self):
        route = self.header(":route")
        return route and utf8(route)

    endpoint = None
    blueprint = None
    routing_exception = None

    @cached_property
    def cookies(self):
        jar = MultiDict()
        text = self.header("cookie")
        if text:
            for part in utf8(text).split(";"):
                name, equals, value = part.strip().partition("=")
                if not equals:
                    continue
                if value.startswith('"'):
                    try:
                        value = next(iter(SimpleCookie("v=" + value).values())).value
                    except (CookieError, StopIteration):
                        pass
                jar.add(name, value)
        return jar

    @property
    def host(self):
        return self.header("x-forwarded-host") or self.header("host") or "localhost"

    @property
    def scheme(self):
        return self.header("x-forwarded-proto") or "http"

    @property
    def is_secure(self):
        return self.scheme == "https"

    @property
    def remote_addr(self):
        return self.header(":client")

    @property
    def access_route(self):
        return [part.strip() for part in self.header("x-forwarded-for", "").split(",") if part.strip()]

    @property
    def host_url(self):
        return "%s://%s/" % (self.scheme, self.host)

    @property
    def root_url(self):
        return self.host_url[:-1] + self._mount + "/"

    url_root = root_url

    @property
    def base_url(self):
        return self.root_url[:-1] + self._target[0]

    @property
    def url(self):
        path, query = self._target
        return self.root_url[:-1] + path + ("?" + query if query else "")

    @property
    def user_agent(self):
        return UserAgent(self.header("user-agent", ""))

    @property
    def referrer(self):
        return self.header("referer")

    @property
    def authorization(self):
        return self.header("authorization")

    @property
    def content_type(self):
        return self.header("content-type")

    @property
    def mimetype(self):
        return self.header("content-type", "").partition(";")[0].strip().lower()

    @property
    def mimetype_params(self):
        return forms.options(self.header("content-type", ""))[1]

    @property
    def content_length(self):
        text = self.header("content-length", "")
        return int(text) if text.isdigit() else None

    @property
    def is_json(self):
        kind = self.mimetype
        return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))

    # --- the body

    @property
    def stream(self):
        """The body as a file. `data` does not include what was read here, unless `data` was read
        before."""
        if self._stream is None:
            if self._data is not None:
                self._stream = io.BytesIO(self._data)
            elif self._connection is None or self._connection.ended:
                self._stream = io.BytesIO(self._piece)
            else:
                self._stream = io.BufferedReader(RawBody(self), 65536)
        return self._stream

    def get_data(self, cache=True, as_text=False, parse_form_data=False):
        data = self._data
        if data is None:
            if self._stream is not None:
                data = self._stream.read()
            elif self._connection is None or self._connection.ended:
                data, self._piece = self._piece, b""
            else:
                data = self.stream.read()
            self._data = data
        return data.decode("utf-8", "replace") if as_text else data

    @property
    def data(self):
        return self.get_data()

    def get_json(self, force=False, silent=False, cache=True):
        if not (force or self.is_json):
            if silent:
                return None
            raise forms.bad_request(415, "The request's content type is not application/json.")
        try:
            return self._json
        except ValueError as error:
            if silent:
                return None
            raise forms.bad_request(400, "The request's body is not JSON: %s" % error) from error

    @cached_property
    def _json(self):
        return json.loads(self.get_data())

    @property
    def json(self):
        return self.get_json()

    @cached_property
    def _form(self):
        return forms.parse(self.header("content-type", ""), self.get_data)

    @property
    def form(self):
        return self._form[0]

    @property
    def files(self):
        return self._form[1]

    @cached_property
    def values(self):
        both = MultiDict(self.args.items(multi=True))
        if self.method in ("POST", "PUT", "PATCH"):
            for name, value in self.form.items(multi=True):
                both.add(name, value)
        return both

    @cached_property
    def environ(self):
        from .wsgi import environ

        return environ(self)

    def __repr__(self):
        return "<Request %s %s>" % (self.method, self.url)


def utf8(text):
    """Decodes UTF-8 text that was received as Latin-1."""
    return text if text.isascii() else text.encode("latin-1").decode("utf-8", "replace")


class UserAgent(str):
    @property
    def string(self):
        return str(self)
