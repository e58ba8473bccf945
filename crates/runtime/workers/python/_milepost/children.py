"""Forked children of a function. They lose the worker's sockets, so that only the worker answers
requests."""

import errno
import os
import sys

# The listener and all open connections.
_sockets = []
_is_child = False


def own(sock):
    """Keeps a socket from children: it is closed on exec, and after a fork."""
    sock.set_inheritable(False)
    _sockets.append(sock)


def watch():
    os.register_at_fork(after_in_child=_forked)


def _forked():
    global _is_child
    _is_child = True
    for sock in _sockets:
        # Objects rather than descriptor numbers, which the child may reuse for files of its own.
        try:
            sock.close()
        except OSError:
            pass
    _sockets.clear()


def leave_if_child(error=None):
    """Ends a child that returned from the function as if it were the worker. It should have called
    `os._exit()`."""
    if not _is_child:
        return
    code = 0
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    elif error is not None and getattr(error, "errno", None) != errno.EBADF:
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    else:
        sys.stderr.write(
            "a forked child returned from the function: it was ended, and its result was dropped; end it with os._exit()\n"
        )
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)
