"""`main()` and `main(request)` with a real Flask: its request context and its responses.

A function that never imports Flask does not pay for it. A late import, inside a function, is
detected when it happens.
"""

import sys

from . import state
from .encode import HTML_HEAD
from .loop import send
from .wsgi import Start, environ


def real():
    """Returns the real Flask if the function has imported it."""
    module = sys.modules.get("flask")
    return None if module is None or getattr(module, "__milepost__", False) else module


def convention(function, passes_request, Plain):
    if real() is not None:
        return InFlask(function, passes_request)
    found = Plain(function, passes_request)

    def move():
        """Switches to Flask's context, even in the middle of a request."""
        if real() is None:
            return
        moved = InFlask(function, passes_request)
        request = state.current.get(None)
        if request is not None:
            moved.enter(request)
        found.handle = moved.handle
        found.call = moved.call
        found.answer = moved.answer

    sys.meta_path.insert(0, Watch(move))
    return found


_app = None


def application():
    """The single application that functions run in."""
    global _app
    if _app is None:
        flask = real()

        class App(flask.Flask):
            def create_url_adapter(self, request):
                """Disables routing: the gateway has already matched the route."""
                return None

        _app = App("milepost", root_path=state.code, static_folder=None)
        _app.config["PROPAGATE_EXCEPTIONS"] = True
    return _app


class Loading:
    """Provides `current_app` while code is loading, from its import of Flask on, as in Fission."""

    def __enter__(self):
        self.context = None
        self.watch = Watch(self.push)
        sys.meta_path.insert(0, self.watch)

    def push(self):
        if real() is None:
            return
        try:
            context = application().app_context()
            context.push()
            self.context = context
        except Exception:
            # A broken Flask reports its error when a function is to run in it.
            pass

    def __exit__(self, *error):
        if self.watch in sys.meta_path:
            sys.meta_path.remove(self.watch)
        # If the code pushed a context and left it, it stays, along with the one below it.
        if self.context is not None and real().current_app._get_current_object() is self.context.app:
            self.context.pop()


class InFlask:
    def __init__(self, function, passes_request):
        self.function = function
        self.passes_request = passes_request
        self.flask = real()
        self.app = application()

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
        """Whether nothing would modify the response. Text then need not become a Response first."""
        return (
            not getattr(context, "_after_request_functions", True)
            and not self.app.after_request_funcs
            and self.app.secret_key is None
            and not self.flask.request_finished.receivers
        )

    def call(self, request):
        """For `async def`: the context ends with the task."""
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
        # Flask's content length is kept for HEAD. Otherwise the server counts the bytes.
        return start.head, b"".join(pieces)


class Watch:
    """Import hook that waits for a module to be imported and then reports it."""

    def __init__(self, arrived, module="flask"):
        self.arrived = arrived
        self.module = module

    def find_spec(self, name, path=None, target=None):
        if name != self.module:
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
