"""The worker's state after `init`, and the current request."""

import contextvars

# Filled in place, so that early imports see the content.
config = {}
secrets = {}
app = ""
function = ""
version = ""
code = ""
folder = ""
threads = 1

# The request of the current thread or task.
current = contextvars.ContextVar("milepost_request")
