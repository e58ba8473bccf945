"""`main(name, **kwargs)`: the request's JSON object, form or query become arguments. The result is
JSON."""

import inspect
import json

from . import state
from .encode import JSON_HEAD, dumps
from .reply import answer as flask_answer
from .reply import is_stream
from .response import Response
from .web import utf8


class Context(dict):
    """Facts about the call. A dict with attribute access, so that it can be returned as JSON."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def context(request):
    facts = request.facts
    return Context(
        request_id=facts.get(":id", ""),
        app=state.app,
        function=state.function,
        version=state.version,
        release=facts.get(":release", ""),
        route=utf8(facts.get(":route", "")),
        params=request.view_args,
        deadline_ms=int(facts[":deadline"]) if facts.get(":deadline", "").isdigit() else None,
        client=facts.get(":client"),
        method=request.method,
        path=request.path,
        headers=dict(request.headers.items(lower=True)),
        # Functions written for OpenStack expect it.
        os_session=None,
    )


def bind(function):
    parameters = inspect.signature(function).parameters.values()
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
    known = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    takes_context = takes_any or "context" in known

    def arguments(request):
        positional, named = (), {}
        # Query parameters that the function does not accept are dropped, because they are often
        # unrelated (campaign tags). A JSON body is passed in full.
        for name, value in request.args.items():
            if takes_any or name in known:
                named[name] = value
        body = request.get_data()
        if body:
            kind = request.mimetype
            if kind == "application/x-www-form-urlencoded" or kind == "multipart/form-data":
                for source in (request.form, request.files):
                    named.update((name, value) for name, value in source.items() if takes_any or name in known)
            else:
                given = _value(body, kind)
                if isinstance(given, dict):
                    named.update(given)
                else:
                    positional = (given,)
        for name, value in request.view_args.items():
            if takes_any or name in known:
                named[name] = value
        if takes_context:
            named["context"] = context(request)
        return positional, named

    return arguments


def _value(body, kind):
    """A JSON object, or a string. A JSON string is decoded, any other body is passed as it is."""
    first = body.lstrip()[:1]
    if first == b"{" or (first == b'"' and kind == "application/json"):
        try:
            return json.loads(body)
        except ValueError:
            pass
    return body.decode("utf-8", "replace")


def answer(result, request=None):
    if isinstance(result, (Response, bytes)) or is_stream(result) or hasattr(result, "get_wsgi_headers"):
        return flask_answer(result, request)
    return JSON_HEAD, dumps(result).encode("utf-8")
