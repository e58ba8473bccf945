"""Form bodies: urlencoded, and multipart with files."""

import io
import shutil
from urllib.parse import parse_qsl

from .values import Headers, MultiDict


def bad_request(status, text):
    from .response import HTTPException

    return HTTPException(status, text)


def options(value):
    """Parses a header such as `form-data; name="a"; filename="b"` into (lower-case value,
    parameters)."""
    found = {}
    first, _, rest = value.partition(";")
    while rest:
        name, equals, rest = rest.partition("=")
        if not equals:
            break
        rest = rest.lstrip()
        if rest.startswith('"'):
            end, text = 1, []
            while end < len(rest) and rest[end] != '"':
                # Browsers escape only the quote. A backslash in a Windows path is literal.
                if rest[end] == "\\" and rest[end + 1 : end + 2] in ('"', "\\"):
                    end += 1
                text.append(rest[end])
                end += 1
            text = "".join(text)
            rest = rest[end + 1 :].partition(";")[2]
        else:
            text, _, rest = rest.partition(";")
            text = text.strip()
        found[name.strip().lower()] = text
    return first.strip().lower(), found


def parse(content_type, read):
    """Returns (fields, files) of a form. For other bodies both are empty, and the body is not
    read."""
    kind, parameters = options(content_type)
    if kind == "application/x-www-form-urlencoded":
        text = read().decode("utf-8", "replace")
        return MultiDict(parse_qsl(text, keep_blank_values=True)), MultiDict()
    if kind == "multipart/form-data" and parameters.get("boundary"):
        return _multipart(read(), parameters["boundary"].encode("latin-1"))
    return MultiDict(), MultiDict()


def _multipart(body, boundary):
    fields, files = MultiDict(), MultiDict()
    for part in (b"\r\n" + body).split(b"\r\n--" + boundary)[1:]:
        if part.startswith(b"--"):
            break
        head, _, content = part.partition(b"\r\n\r\n")
        headers = Headers()
        for line in head.decode("utf-8", "replace").split("\r\n"):
            name, colon, value = line.partition(":")
            if colon:
                headers.add(name.strip(), value.strip())
        _, disposition = options(headers.get("content-disposition", ""))
        name = disposition.get("name")
        if name is None:
            continue
        if "filename" in disposition:
            files.add(name, File(name, disposition["filename"], headers, content))
        else:
            fields.add(name, content.decode("utf-8", "replace"))
    return fields, files


class File:
    """An uploaded file."""

    def __init__(self, name, filename, headers, content):
        self.name = name
        self.filename = filename
        self.headers = headers
        self.stream = io.BytesIO(content)

    @property
    def content_type(self):
        return self.headers.get("content-type")

    @property
    def mimetype(self):
        return (self.content_type or "").partition(";")[0].strip().lower()

    @property
    def content_length(self):
        return len(self.stream.getbuffer())

    def save(self, target):
        if hasattr(target, "write"):
            shutil.copyfileobj(self.stream, target)
        else:
            with open(target, "wb") as file:
                shutil.copyfileobj(self.stream, file)

    def __getattr__(self, name):
        return getattr(self.stream, name)

    def __iter__(self):
        return iter(self.stream)

    def __bool__(self):
        return bool(self.filename)
