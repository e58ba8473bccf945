"""Stands in for Flask if it is not installed: what functions use of it, without its applications.

It comes last on the import path, so that a Flask in the package or in the interpreter takes
precedence.
"""

import logging

from _milepost import state
from _milepost.reply import make_response
from _milepost.response import HTTPException, Response, abort, jsonify, redirect
from _milepost.web import Request

__milepost__ = True
__version__ = "0"


def _current():
    request = state.current.get(None)
    if request is None:
        raise RuntimeError("flask.request is used outside of a request")
    return request


class _Proxy:
    """Forwards everything to the current object."""

    __slots__ = ("_find",)

    def __init__(self, find):
        object.__setattr__(self, "_find", find)

    def _get_current_object(self):
        return self._find()

    def __getattr__(self, name):
        return getattr(object.__getattribute__(self, "_find")(), name)

    def __setattr__(self, name, value):
        setattr(self._find(), name, value)

    def __delattr__(self, name):
        delattr(self._find(), name)

    def __contains__(self, name):
        return name in self._find()

    def __iter__(self):
        return iter(self._find())

    def __bool__(self):
        return state.current.get(None) is not None

    def __repr__(self):
        return repr(self._find())


class _Globals:
    def get(self, name, default=None):
        return self.__dict__.get(name, default)

    def pop(self, name, *default):
        return self.__dict__.pop(name, *default)

    def setdefault(self, name, default=None):
        return self.__dict__.setdefault(name, default)

    def __contains__(self, name):
        return name in self.__dict__

    def __iter__(self):
        return iter(self.__dict__)


def _globals():
    request = _current()
    found = request.__dict__.get("_g")
    if found is None:
        found = request._g = _Globals()
    return found


class _App:
    """The parts of `current_app` that make sense without an application."""

    name = import_name = "milepost"
    debug = testing = False
    response_class = Response
    make_response = staticmethod(make_response)

    def __init__(self):
        self.config = {}
        self.extensions = {}
        self._logger = None

    @property
    def logger(self):
        if self._logger is None:
            self._logger = logging.getLogger("milepost")
            if not self._logger.handlers and not logging.getLogger().handlers:
                handler = logging.StreamHandler()
                handler.setFormatter(logging.Formatter("[%(asctime)s] %(levelname)s in %(module)s: %(message)s"))
                self._logger.addHandler(handler)
        return self._logger

    def _get_current_object(self):
        return self


request = _Proxy(_current)
g = _Proxy(_globals)
current_app = _App()


def has_request_context():
    return state.current.get(None) is not None


def stream_with_context(pieces):
    """Returns the stream unchanged: streams always run in their request's context."""
    return pieces() if callable(pieces) and not hasattr(pieces, "__next__") else pieces


def __getattr__(name):
    raise AttributeError(
        "flask.%s: Flask itself is not installed here, only a stand-in for functions (request, Response, jsonify, "
        "make_response, redirect, abort, g, current_app.logger). Put Flask into the package to use the rest." % name
    )


__all__ = [
    "HTTPException", "Request", "Response", "abort", "current_app", "g", "has_request_context", "jsonify", "make_response",
    "redirect", "request", "stream_with_context",
]  # fmt: skip
