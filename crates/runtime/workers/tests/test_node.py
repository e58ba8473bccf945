"""The Node worker as the server sees it, with real processes and the real socket.

Run `python3 test_node.py`. MILEPOST_TEST_NODE names another Node for the workers.
"""

import sys

sys.dont_write_bytecode = True  # do not write __pycache__ next to the sources

from case import main  # noqa: E402
from drive import node  # noqa: E402

if __name__ == "__main__":
    main(node(), ["node_loading", "node_applications", "node_listening", "node_conventions", "node_bodies"])
