"""Secrets and configuration as files where Fission's functions read them.

The paths are `/secrets/NAMESPACE/NAME/KEY` and `/configs/NAMESPACE/NAME/KEY`. The namespace is the
app, and `default` for code that hard-codes it.
"""

import json
import os
import re

from . import load

DEFAULT = "default"
# The characters that Kubernetes allows in a key.
KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")


def write(app, secrets, configmaps, config, root="/"):
    if configmaps and not os.path.islink(os.path.join(root, "configs")):
        raise load.LoadError("Files under /configs need a sandbox with a file system of its own, which this server lacks")
    for name in configmaps:
        members = config.get(name) if isinstance(config, dict) else None
        if not isinstance(members, dict):
            raise load.LoadError("The configuration has no %r with keys below it, which the function reads as files; "
                                 "set one with `milepost config set %s.KEY=VALUE`" % (name, name))
        fill(os.path.join(root, "configs"), app, name, {key: plain(value) for key, value in members.items()})
    for name, value in secrets.items():
        fill(os.path.join(root, "secrets"), app, name, keys(value))


def keys(value):
    """A secret that is a JSON object of strings becomes one file per member, any other secret a
    single file."""
    try:
        found = json.loads(value)
    except ValueError:
        found = None
    if isinstance(found, dict) and found and all(isinstance(text, str) for text in found.values()):
        return found
    return {"value": value}


def plain(value):
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def fill(link, app, name, files):
    if not os.path.islink(link):
        return
    folder = os.readlink(link)
    own = os.path.join(folder, app, name)
    os.makedirs(own, mode=0o700, exist_ok=True)
    shared = os.path.join(folder, DEFAULT)
    if app != DEFAULT and not os.path.lexists(shared):
        os.symlink(app, shared)
    for key, text in files.items():
        if not KEY.fullmatch(key) or key in (".", ".."):
            continue
        path = os.path.join(own, key)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o400), "w", encoding="utf-8", newline="") as file:
            file.write(text)
