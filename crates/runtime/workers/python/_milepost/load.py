"""Finds the function that an entrypoint names, and reports clearly if it cannot."""

import errno
import importlib
import importlib.machinery
import importlib.util
import os
import sys
import traceback

from . import state

DEFAULT = "main"
# Tried in this order if there is no entrypoint.
USUAL = ("main", "handler", "app", "application", "lambda_handler")


class LoadError(Exception):
    """The package does not have what the entrypoint names."""


def load(entrypoint, code):
    """Returns the callable that `entrypoint` names in the directory `code`."""
    module_name, name = split(entrypoint)
    module = import_named(module_name, code, entrypoint)
    if module is None and ":" not in entrypoint and entrypoint:
        # The whole entrypoint may be a module whose function has a usual name.
        module = import_named(entrypoint, code, entrypoint)
        if module is not None:
            name = None
    # Clients of v1 name a module, and a wrong name is an error there.
    if module is None and os.environ.get("MILEPOST_CONVENTION") != "arguments":
        module = import_only_file(code)
    if module is None:
        raise LoadError(missing_module(module_name, code, entrypoint))
    if name is None or not entrypoint:
        names = USUAL
    else:
        names = (name,)
    for one in names:
        found = module
        for part in one.split("."):
            found = getattr(found, part, None)
        if found is not None:
            break
    else:
        raise LoadError(missing_function(module, names, entrypoint))
    if not callable(found):
        raise LoadError("%s in %s is %s, which cannot be called" % (one, where(module), type(found).__name__))
    return found


def split(entrypoint):
    """Empty means main.main, a single word a function of main. Otherwise the last dot (or a colon)
    separates module and function."""
    if ":" in entrypoint:
        module, _, name = entrypoint.partition(":")
    elif "." in entrypoint:
        module, _, name = entrypoint.rpartition(".")
    else:
        module, name = DEFAULT, entrypoint or DEFAULT
    return module.replace("/", "."), name


def import_named(name, code, entrypoint):
    """Imports the package's own module of that name, never one of the interpreter's. None if there
    is none."""
    parts = name.split(".")
    base = os.path.join(code, *parts)
    if not all(parts) or not (os.path.isfile(base + ".py") or os.path.isdir(base)):
        if importlib.machinery.PathFinder.find_spec(parts[0], [code]) is None:
            return None
    if (
        os.path.isdir(base)
        and not os.path.isfile(os.path.join(base, "__init__.py"))
        and not os.path.isfile(base + ".py")
    ):
        # A directory that only happens to have the name.
        return None
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            return None
        raise


def import_only_file(code):
    """If the package is a single file, imports it whatever its name."""
    entries = [entry for entry in os.listdir(code) if entry[0] != "."]
    files = [entry for entry in entries if os.path.isfile(os.path.join(code, entry))]
    python = [entry for entry in files if entry.endswith(".py")]
    if len(python) == 1:
        only = python[0]
    elif len(entries) == 1 and files:
        only = files[0]
    else:
        return None
    path = os.path.join(code, only)
    name = only[:-3] if only.endswith(".py") else only.replace(".", "_")
    loader = importlib.machinery.SourceFileLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def unshadow(code):
    """Drops preimported modules that the package also has, because the package's modules take
    precedence."""
    own = set()
    for entry in os.listdir(code):
        if entry.endswith(".py"):
            own.add(entry[:-3])
        elif os.path.isfile(os.path.join(code, entry, "__init__.py")):
            own.add(entry)
    own.difference_update(sys.builtin_module_names, ("os", "sys", "site", "codecs", "io", "abc", "stat", "encodings"))
    if own:
        for name in [name for name in sys.modules if name.partition(".")[0] in own]:
            del sys.modules[name]


def where(module):
    path = getattr(module, "__file__", None) or module.__name__
    return os.path.relpath(path, state.code) if os.path.isabs(path) else path


def listing(code):
    entries = sorted(entry + "/" if os.path.isdir(os.path.join(code, entry)) else entry for entry in os.listdir(code))
    if not entries:
        return "The package is empty."
    shown = ", ".join(entries[:12])
    return "The package has: %s%s." % (shown, ", and %d more" % (len(entries) - 12) if len(entries) > 12 else "")


def missing_module(name, code, entrypoint):
    path = name.replace(".", "/")
    why = "the entrypoint %r names" % entrypoint if entrypoint else "without an entrypoint there must be"
    return "%s the module %s, but there is no %s.py and no %s/__init__.py. %s" % (
        why[0].upper() + why[1:], name, path, path, listing(code),
    )  # fmt: skip


def missing_function(module, names, entrypoint):
    own = [
        name
        for name, value in vars(module).items()
        if callable(value) and not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]
    has = "It has: %s." % ", ".join(own[:12]) if own else "It defines no functions."
    wanted = " or ".join(repr(name) for name in names)
    return "%s has no function %s, which %s. %s" % (
        where(module), wanted, "the entrypoint %r names" % entrypoint if entrypoint else "is called when no entrypoint is given", has,
    )  # fmt: skip


def complaint(error):
    """Returns (document for the server, traceback) about an exception of the function."""
    message, trace = explain(error)
    text = bounded(str(error), 4096) or type(error).__name__
    return {"message": message, "text": text, "exhausted": is_exhausted(error), "trace": trace}, trace


def is_exhausted(error):
    """Whether the sandbox refused memory, a process or a thread."""
    if isinstance(error, OSError):
        return error.errno == errno.EAGAIN
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and str(error) == "can't start new thread")


def explain(error):
    """Returns (one-line message, traceback) without the worker's own frames."""
    if isinstance(error, LoadError):
        return str(error), str(error) + "\n"
    own = state.folder + os.sep
    trace = error.__traceback__
    while trace is not None and hidden(trace.tb_frame.f_code.co_filename, own):
        trace = trace.tb_next
    text = "".join(traceback.format_exception(type(error), error, trace))
    name = type(error).__name__
    said = str(error)
    message = "%s: %s" % (name, said) if said else name
    if isinstance(error, SyntaxError) and error.filename:
        message = "%s: %s (%s, line %s)" % (name, error.msg, relative(error.filename), error.lineno)
    elif isinstance(error, ImportError):
        last = None
        while trace is not None:
            if not hidden(trace.tb_frame.f_code.co_filename, own):
                last = trace
            trace = trace.tb_next
        if last is not None:
            message += " (imported in %s, line %d)" % (relative(last.tb_frame.f_code.co_filename), last.tb_lineno)
            if isinstance(error, ModuleNotFoundError):
                message += ". It is neither in the package nor installed for Python %d.%d" % sys.version_info[:2]
        if error.name == "flask" and getattr(sys.modules.get("flask"), "__milepost__", False):
            message += ". Flask itself is not installed here, only a stand-in for functions: put Flask into the package"
    return bounded(message, 4096), bounded(text, 65536)


def bounded(text, most):
    """Shortens the middle of a long text: the server accepts errors of up to a megabyte."""
    return (
        text
        if len(text) <= most
        else "%s\n… %d characters …\n%s" % (text[: most // 2], len(text) - most, text[-most // 2 :])
    )


def hidden(filename, own):
    return (
        filename.startswith(own)
        or filename.startswith("<frozen importlib")
        or filename.endswith("importlib/__init__.py")
    )


def relative(filename):
    base = state.code + os.sep
    return filename[len(base) :] if state.code and filename.startswith(base) else filename
