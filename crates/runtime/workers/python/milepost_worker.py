"""The Python worker: a process that waits for a function, loads it and serves its requests.

It is started ahead of time, before its function is known, as

    PYTHON -I -B -X utf8 FOLDER/milepost_worker.py

with a listening Unix socket as file descriptor 3, standard input at /dev/null, and an environment
set by the server (PATH, HOME, LANG, and MILEPOST_GATEWAY for calls to other functions). Everything
else comes with `init`. PYTHON is the interpreter itself, not a shim of a version manager. FOLDER
holds this file, `_milepost/` and `shim/`.

-I  ignores the server's PYTHON* variables and the user's site directory. The interpreter's
    site-packages are used (so no -S).
-B  writes nothing next to the code, which is read-only.
No -u: standard output is line-buffered, and flushed before a response ends.

Starting is faster if FOLDER was compiled once for the interpreter (`PYTHON -m compileall -q
FOLDER`).

`_milepost/wire.py` implements the protocol of docs/decisions/005-runtime.md. The first connection
carries `init` and then, like the others, requests. When it ends, the worker ends. sys.path becomes:
the package, the interpreter's paths, `shim/`, so that a real Flask in the package or in the
interpreter takes precedence.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from _milepost import start  # noqa: E402

sys.path.remove(HERE)

if __name__ == "__main__":
    start.main(HERE)
