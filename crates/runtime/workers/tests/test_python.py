"""The Python worker as the server sees it, with real processes and the real socket.

Run `python3 test_python.py`. MILEPOST_TEST_PYTHON names another interpreter for the workers.
"""

import sys

sys.dont_write_bytecode = True  # do not write __pycache__ next to the sources

from case import main  # noqa: E402
from drive import interpreter  # noqa: E402

if __name__ == "__main__":
    main(interpreter(), ["python_loading", "python_servers", "python_children", "python_programs", "python_flask", "python_conventions", "python_bodies"])
