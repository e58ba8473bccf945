"""`main()` and `main(request)` when a real Flask is there: its own request context and its own responses.

A function that never imports Flask never pays for it. One that imports it late, inside a function, is noticed then.
"""

import sys

from . import state
from .encode import HTML_HEAD
from .loop import send
from .wsgi import Start, environ


def real():
    """The real Flask, if the function has imported it."""
    module = sys.modules.get("flask")
    return None if module is None or getattr(module, "__milepost__", False) else module


def convention(function, passes_request, Plain):
    if real() is not None:
        return InFlask(function, passes_request)
    found = Plain(function, passes_request)
    sys.meta_path.insert(0, Watch(found))
    return found


class InFlask:
    def __init__(self, function, passes_request):
        self.function = function
        self.passes_request = passes_request
        self.flask = flask = real()

        class App(flask.Flask):
            def create_url_adapter(self, request):
                """There are no routes: the gateway has matched them already."""
                return None

        self.app = App("milepost", root_path=state.code, static_folder=None)
        self.app.config["PROPAGATE_EXCEPTIONS"] = True

    def handle(self, connection, request):
        context = self.enter(request)
        try:
            try:
                result = (
                    self.function(self.flask.request._get_current_object()) if self.passes_request else self.function()
                )
            except Exception as error:
                result = self.app.handle_user_exception(error)
            if type(result) is str and self.is_plain(context):
                send(connection, request, HTML_HEAD, result.encode())
            else:
                send(connection, request, *self.answer(result, request))
        finally:
            context.pop()

    def enter(self, request):
        """Makes Flask's own request the current one."""
        context = self.app.request_context(environ(request))
        context.push()
        context.request.view_args = request.view_args
        return context

    def is_plain(self, context):
        """Whether nothing would change a response on its way out: then text need not become a Response first."""
        return (
            not getattr(context, "_after_request_functions", True)
            and not self.app.after_request_funcs
            and self.app.secret_key is None
            and not self.flask.request_finished.receivers
        )

    def call(self, request):
        """For `async def`: the task's own context ends with the task."""
        self.enter(request)
        return self.function(self.flask.request._get_current_object()) if self.passes_request else self.function()

    def answer(self, result, request):
        if result is None:
            result = self.app.response_class(status=204)
        elif hasattr(result, "__aiter__"):
            from .reply import answer

            return answer(result)
        response = self.app.finalize_request(result)
        start = Start(None, request)
        pieces = response(self.flask.request.environ, start)
        if response.is_streamed:
            return start.head, pieces
        # Flask counts the bytes; the server does that too, and a HEAD keeps what Flask said.
        return start.head, b"".join(pieces)


class Watch:
    """Stands in the import path until Flask is imported, then moves the function into Flask's context."""

    def __init__(self, plain):
        self.plain = plain

    def find_spec(self, name, path=None, target=None):
        if name != "flask":
            return None
        sys.meta_path.remove(self)
        spec = next((s for s in (f.find_spec(name, path, target) for f in sys.meta_path) if s is not None), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def then(module):
                execute(module)
                self.arrived()

            spec.loader.exec_module = then
        return spec

    def arrived(self):
        if real() is None:
            return
        found = InFlask(self.plain.function, self.plain.passes_request)
        request = state.current.get(None)
        if request is not None:
            found.enter(request)
        self.plain.handle = found.handle
        self.plain.call = found.call
        self.plain.answer = found.answer
