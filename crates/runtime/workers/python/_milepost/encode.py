"""Encodes response heads, JSON and pieces of bodies as bytes."""

import dataclasses
import datetime
import decimal
import json
import re
import uuid
from email.utils import format_datetime

HTML = "text/html; charset=utf-8"
JSON = "application/json"
HTML_HEAD = b"200\0content-type\0text/html; charset=utf-8"
JSON_HEAD = b"200\0content-type\0application/json"

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+").fullmatch
_BROKEN = re.compile("[\0\r\n]").search
_names = {}


def head(status, pairs):
    """Encodes a response head. Rejects values that could inject another header."""
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


def plain(value):
    """Converts values that JSON does not support in the same way as Flask."""
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            value = value.replace(tzinfo=datetime.timezone.utc)
        return format_datetime(value.astimezone(datetime.timezone.utc), usegmt=True)
    if isinstance(value, datetime.date):
        return plain(datetime.datetime(value.year, value.month, value.day))
    if isinstance(value, (decimal.Decimal, uuid.UUID)):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if hasattr(value, "__html__"):
        return str(value.__html__())
    raise TypeError("%s is not something that JSON can say" % type(value).__name__)


dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=plain).encode


def encoded(piece):
    if type(piece) is bytes:
        return piece
    if isinstance(piece, str):
        return piece.encode("utf-8")
    if isinstance(piece, (bytearray, memoryview)):
        return bytes(piece)
    raise TypeError("a piece of a response's body is %s; it must be str or bytes" % type(piece).__name__)
