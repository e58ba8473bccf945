"""Functions that take a request, nothing, or arguments made from a request."""

import asyncio
import inspect
import sys
import threading

from .encode import HTML_HEAD
from .loop import send
from .reply import answer

_loops = threading.local()


class Plain:
    """`main(request)` and `main()`. Results are what Flask accepts."""

    def __init__(self, function, passes_request):
        self.function = function
        self.passes_request = passes_request
        self.handle = self.with_request if passes_request else self.without_request

    def with_request(self, connection, request):
        self.finish(connection, request, self.function(request))

    def without_request(self, connection, request):
        self.finish(connection, request, self.function())

    def finish(self, connection, request, result):
        if type(result) is str and request._head[0] != "HEAD":
            try:
                sys.stdout.flush()
                sys.stderr.flush()
            except (AttributeError, ValueError, OSError):
                pass
            connection.respond(request._id, HTML_HEAD, result.encode())
            return
        send(connection, request, *answer(settled(result), request))

    # Used for `async def`, on the event loop.

    def call(self, request):
        return self.function(request) if self.passes_request else self.function()

    answer = staticmethod(answer)


class Bound:
    """Functions whose arguments are made from the request by `bind`, and whose result becomes a
    response by `answer`."""

    def __init__(self, function, bind, answer):
        self.function = function
        self.bind = bind
        self.answer = answer

    def handle(self, connection, request):
        send(connection, request, *self.answer(settled(self.call(request)), request))

    def call(self, request):
        positional, named = self.bind(request)
        try:
            return self.function(*positional, **named)
        except TypeError as error:
            if error.__traceback__.tb_next is not None:
                raise
            # Python rejected the call itself: the arguments do not match.
            raise TypeError(
                "%s (arguments come from the JSON body, the form or the query; a single parameter called `request` gets the "
                "request itself)" % error
            ) from None


def settled(result):
    """Runs a coroutine that a blocking function returned to its end."""
    if not inspect.isawaitable(result):
        return result
    loop = getattr(_loops, "loop", None)
    if loop is None:
        loop = _loops.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
    return loop.run_until_complete(result)
