"""Detects the calling convention of a function, once."""

import functools
import inspect
import os
import types

from . import aio, arguments, event, flasks, loop
from .plain import Bound, Plain
from .wsgi import Wsgi

NAMES = ("asgi", "wsgi", "event", "request", "flask", "arguments")
REQUESTS = {"request", "req", "_request", "_req", "r", "_", "http_request", "flask_request"}
EVENTS = {"event", "evt", "_event", "_"}
CONTEXTS = {"context", "ctx", "_context", "_ctx", "_", "__"}
HANDLERS = {"handler", "lambda_handler", "handle"}


def find(target):
    """Returns (serve function, name of the convention)."""
    name = os.environ.get("MILEPOST_CONVENTION") or detect(target)
    waits = is_async(target)
    if name == "asgi":
        return aio.serve_asgi(target), name
    if name == "wsgi":
        return loop.serve(Wsgi(target)), name
    if name in ("request", "flask"):
        convention = flasks.convention(target, name == "request", Plain)
    elif name == "event":
        convention = Bound(target, event.bind(target), event.answer)
    elif name == "arguments":
        convention = Bound(target, arguments.bind(target), arguments.answer)
    else:
        raise ValueError("MILEPOST_CONVENTION is %r; it can be %s" % (name, ", ".join(NAMES)))
    return (aio.serve(convention) if waits else loop.serve(convention)), name


def unwrapped(target):
    while isinstance(target, functools.partial):
        target = target.func
    return target


def is_async(target):
    target = unwrapped(target)
    call = getattr(type(target), "__call__", None)
    return any(
        inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one)
        for one in (target, getattr(target, "__wrapped__", None), None if _is_function(target) else call)
        if one is not None
    )


def _is_function(target):
    return isinstance(target, (types.FunctionType, types.MethodType, types.BuiltinFunctionType))


def detect(target):
    try:
        parameters = list(inspect.signature(target).parameters.values())
    except (TypeError, ValueError):
        # Some callables written in C have no signature. They are called like a Flask view.
        return "flask"
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p.name for p in positional if p.default is p.empty]
    names = [p.name for p in positional]
    is_object = not _is_function(unwrapped(target))

    if names[:3] == ["scope", "receive", "send"] or (len(required) == 3 and is_async(target)):
        return "asgi"
    if len(required) == 2 and (is_object or "start_response" in names):
        return "wsgi"
    if not parameters:
        return "flask"
    if len(names) == 2 and _is_event(target, names):
        return "event"
    if len(names) == 1 and len(parameters) == 1:
        only = positional[0]
        if only.name in REQUESTS or "Request" in str(only.annotation):
            return "request"
        if only.name in EVENTS:
            return "event"
    if len(parameters) == 1 and parameters[0].kind is inspect.Parameter.VAR_POSITIONAL:
        return "flask"
    return "arguments"


def _is_event(target, names):
    if names[0] in EVENTS and names[1] in CONTEXTS:
        return True
    return getattr(target, "__name__", "") in HANDLERS and names[0] not in CONTEXTS and names[1] in CONTEXTS
