"""Refuses servers that the function's code starts while it is loaded, such as a stray `app.run()`.

They would block the load until its time is up, and nothing would say why.
"""

import linecache
import os
import re
import socket
import sys

from . import load, state
from .flasks import Watch

CALL = re.compile(r"([A-Za-z_][\w.]*)\(")


class Loading:
    def __enter__(self):
        # Nearly all servers of Python bind through this class.
        socket.socket.bind = bind
        # uvloop does not.
        self.watch = Watch(lambda: self.refuse_uvicorn(sys.modules["uvicorn.server"].Server), "uvicorn.server")
        self.undo = None
        sys.meta_path.insert(0, self.watch)

    def refuse_uvicorn(self, server):
        start = server.startup

        async def startup(self, sockets=None):
            raise refusal()

        def undo():
            server.startup = start

        server.startup = startup
        self.undo = undo

    def __exit__(self, *error):
        del socket.socket.bind
        if self.watch in sys.meta_path:
            sys.meta_path.remove(self.watch)
        if self.undo is not None:
            self.undo()


def bind(self, address):
    if self.family in (socket.AF_INET, socket.AF_INET6) and self.type == socket.SOCK_STREAM and address[1] != 0:
        raise refusal()
    return super(socket.socket, self).bind(address)


def refusal():
    name, line, call = culprit()
    return load.LoadError(
        "%s, line %d, starts a server while it is loaded. Remove %s or put it under `if __name__ == \"__main__\":`. "
        "The entrypoint names the app, and Milepost serves it" % (name, line, "`%s()`" % call if call else "it")
    )


def culprit():
    """Returns file, line and called name of the first frame of the function's code that calls
    something."""
    frames = []
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename.startswith(state.code + os.sep):
            frames.insert(0, frame)
        frame = frame.f_back
    for frame in frames:
        text = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
        found = CALL.search(text)
        if found and not text.lstrip().startswith(("import ", "from ")):
            return load.relative(frame.f_code.co_filename), frame.f_lineno, found.group(1)
    if frames:
        return load.relative(frames[0].f_code.co_filename), frames[0].f_lineno, None
    return "the code", 0, None
