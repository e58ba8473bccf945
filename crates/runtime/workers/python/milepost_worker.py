"""The Python worker: a process that waits for a function, loads it and serves its requests.

Started ahead of need, before it knows any function, as

    PYTHON -I -B -X utf8 FOLDER/milepost_worker.py

with a listening Unix socket as file descriptor 3, standard input at /dev/null, and an environment of the server's choice
(PATH, HOME, LANG, and MILEPOST_GATEWAY for calls to other functions; everything else comes with `init`).
PYTHON is the interpreter itself, not a shim of a version manager. FOLDER holds this file, `_milepost/` and `shim/`.

-I  the server's PYTHON* variables and the user's site folder do not matter; the interpreter's site-packages do (so no -S)
-B  nothing is written next to the code, which is read-only
No -u: standard output is written line by line, and flushed before a response ends.

A start costs less when FOLDER has been compiled once for the interpreter (`PYTHON -m compileall -q FOLDER`).

The protocol is docs/decisions/005-runtime.md; `_milepost/wire.py` speaks it. The first connection carries `init`, then, like
the others, requests. When it ends, the worker ends. sys.path becomes: the package, the interpreter's, `shim/`, so that a real
Flask in the package or in the interpreter is the one that is used.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from _milepost import start  # noqa: E402

sys.path.remove(HERE)

if __name__ == "__main__":
    start.main(HERE)
