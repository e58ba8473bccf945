"""From an idle process to a serving function: accept, init, load, ready."""

# Preloads what functions commonly use and what this worker needs later, before a call waits for it.
import asyncio  # noqa: F401
import atexit
import base64  # noqa: F401
import collections  # noqa: F401
import datetime  # noqa: F401
import email.parser  # noqa: F401
import email.utils  # noqa: F401
import functools  # noqa: F401
import gc
import hashlib  # noqa: F401
import hmac  # noqa: F401
import html  # noqa: F401
import http.client  # noqa: F401
import http.cookies  # noqa: F401
import importlib.util  # noqa: F401
import inspect  # noqa: F401
import json
import logging  # noqa: F401
import os
import random  # noqa: F401
import re  # noqa: F401
import socket
import string  # noqa: F401
import sys
import tempfile
import time
import traceback
import typing  # noqa: F401
import urllib.parse  # noqa: F401
import urllib.request  # noqa: F401
import uuid  # noqa: F401

from . import asgi, children, conventions, flasks, load, loop, mounts, program, servers, state  # noqa: F401
from .loop import flush
from .wire import FAILED, INIT, Connection

DESCRIPTOR = 3
CONFIG_IN_ENVIRONMENT = 32 * 1024


def main(folder):
    state.folder = folder
    shim = os.path.join(folder, "shim")
    sys.path.append(shim)
    import milepost  # noqa: F401

    listener = socket.socket(fileno=DESCRIPTOR)
    children.own(listener)
    children.watch()
    sys.stdout.reconfigure(line_buffering=True)
    gc.collect()
    gc.freeze()

    sock, _ = listener.accept()
    connection = Connection(sock)
    init = connection.read_message(INIT)
    if init is None:
        return
    # Objects created while loading are long-lived. Scanning them would take most of a small
    # function's start.
    gc.disable()
    try:
        settle(init)
        entrypoint = init.get("entrypoint") or ""
        if init.get("program"):
            serve, convention = loop.serve(program.find(entrypoint, state.code)), "program"
        else:
            with flasks.Loading(), servers.Loading():
                function = load.load(entrypoint, state.code)
            serve, convention = conventions.find(function)
    except BaseException as error:
        children.leave_if_child(error)
        refuse(connection, error)
        leave(1)
    gc.freeze()
    gc.enable()
    serve(connection, listener, {"convention": convention})
    leave(0)


def settle(init):
    """Assigns the process to the function: its variables, secrets, directory and import path."""
    variables = init.get("variables") or {}
    secrets = init.get("secrets") or {}
    config = init.get("config")
    state.app = init.get("app") or ""
    state.function = init.get("function") or ""
    state.version = str(init.get("version") or "")
    state.threads = init.get("threads") or 1
    state.code = code = os.path.abspath(init["code"])
    if isinstance(config, dict):
        state.config.update(config)
    state.secrets.update(secrets)

    environment = os.environ
    environment.update(variables)
    environment.update(secrets)
    environment["MILEPOST_APP"] = state.app
    environment["MILEPOST_FUNCTION"] = state.function
    environment["MILEPOST_VERSION"] = state.version
    text = json.dumps({} if config is None else config)
    if len(text) < CONFIG_IN_ENVIRONMENT:
        environment["MILEPOST_CONFIG"] = text
    if "TZ" in variables:
        time.tzset()

    configmaps = init.get("configmaps") or []
    if secrets or configmaps:
        mounts.write(state.app, secrets, configmaps, config)
    os.chdir(writable(code) if variables.get("MILEPOST_WORKDIR") == "writable" else code)
    more = [os.path.join(code, part) for part in variables.get("PYTHONPATH", "").split(os.pathsep) if part]
    sys.path[:0] = [code] + more
    sys.argv = [os.path.join(code, "main.py")]
    load.unshadow(code)


def writable(code):
    """Returns a writable directory of the instance that links to the package's files."""
    folder = os.path.join(tempfile.gettempdir(), "work")
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(code):
        if not os.path.lexists(os.path.join(folder, name)):
            os.symlink(os.path.join(code, name), os.path.join(folder, name))
    return folder


def refuse(connection, error):
    message, trace = load.explain(error)
    sys.stderr.write(trace)
    flush()
    connection.message(FAILED, {"message": message, "trace": trace})


def leave(code):
    """Ends the process without waiting for the function's threads."""
    try:
        atexit._run_exitfuncs()
        flush()
    except BaseException:
        traceback.print_exc()
    os._exit(code)
