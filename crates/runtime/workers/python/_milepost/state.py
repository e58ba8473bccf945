"""What a worker knows about itself after `init`, and which request runs where."""

import contextvars

# The documents are filled in place, so that whoever imported them early sees them.
config = {}
secrets = {}
app = ""
function = ""
version = ""
code = ""
folder = ""
threads = 1

# The request that runs in this thread or task.
current = contextvars.ContextVar("milepost_request")
