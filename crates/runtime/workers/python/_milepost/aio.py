"""Serves `async` functions and ASGI applications: all connections on one event loop.

One loop rather than one per thread, because clients, pools and locks that a function creates once
belong to a loop. Tasks that it leaves running after a response continue between requests.
"""

import asyncio
import inspect

from . import state
from .children import leave_if_child
from .loop import has_no_body
from .slot import Slot
from .wire import READY


def drained(pieces):
    """Turns an async iterator into an iterator, for blocking functions."""
    from .plain import settled

    try:
        while True:
            try:
                yield settled(pieces.__anext__())
            except StopAsyncIteration:
                return
    finally:
        if hasattr(pieces, "aclose"):
            settled(pieces.aclose())


def serve(convention):
    """`async def` functions get the whole body before they are called. To stream a body, use
    ASGI."""

    async def run(slot, request):
        # The rest may have arrived before this task began.
        if slot.pieces or not slot.ended:
            parts = [request._piece]
            while True:
                piece = await slot.read(request)
                if piece is None:
                    break
                parts.append(piece)
            request._piece = b"".join(parts)
            if slot.cancelled:
                slot.respond(request, b"499", b"")
                return
        result = convention.call(request)
        if inspect.isawaitable(result):
            result = await result
        head, body = convention.answer(result, request)
        if type(body) is bytes and request._head[0] != "HEAD" and not has_no_body(head):
            slot.respond(request, head, body)
            if slot.drained is not None:
                await slot.drained
            return
        await slot.send(request, head, body)

    return lambda connection, listener, ready: run_loop(run, None, connection, listener, ready)


def serve_asgi(app):
    from .asgi import Lifespan, runner

    lifespan = Lifespan(app)
    run = runner(app, lifespan.state)
    return lambda connection, listener, ready: run_loop(run, lifespan, connection, listener, ready)


def run_loop(run, lifespan, connection, listener, ready):
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.run_until_complete(_serve(loop, run, lifespan, connection, listener, ready))


async def _serve(loop, run, lifespan, connection, listener, ready):
    if lifespan is not None:
        try:
            await lifespan.start(loop)
        except BaseException as error:
            from .start import leave, refuse

            refuse(connection, error)
            leave(1)
    ended = loop.create_future()
    leave_if_child()
    connection.message(READY, ready)
    connection.sock.setblocking(False)
    await loop.connect_accepted_socket(
        lambda: Slot(loop, run, lambda: ended.done() or ended.set_result(None)), connection.sock
    )
    accepting = None
    if state.threads > 1:
        listener.setblocking(False)
        accepting = loop.create_task(_accept(loop, run, listener))
    await ended
    if accepting is not None:
        accepting.cancel()
    if lifespan is not None:
        await lifespan.stop()


async def _accept(loop, run, listener):
    while True:
        sock, _ = await loop.sock_accept(listener)
        await loop.connect_accepted_socket(lambda: Slot(loop, run), sock)
