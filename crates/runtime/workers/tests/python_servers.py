"""Servers that code starts while it is loaded. They would block the load without a word."""

import socket

from case import Case
from drive import Failed

ADVICE = (
    "main.py, line %d, starts a server while it is loaded. Remove `%s()` or put it under `if __name__ == \"__main__\":`. "
    "The entrypoint names the app, and Milepost serves it"
)
APP = """def app(environ, start_response):
    start_response("200 OK", [])
    return [b"served"]
"""
# The parts of uvicorn that matter: with uvloop it binds without Python's sockets.
UVICORN = {
    "uvicorn/__init__.py": "import asyncio\nfrom .server import Server\ndef run(app, **options):\n    asyncio.run(Server().serve())\n",
    "uvicorn/server.py": "import time\nclass Server:\n    async def startup(self, sockets=None):\n        time.sleep(3600)\n"
    "    async def serve(self):\n        await self.startup()\n",
}


class Servers(Case):
    def free_port(self):
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            return one.getsockname()[1]

    def test_names_the_call_to_remove(self):
        for code, line, call in (
            ("from wsgiref.simple_server import make_server\nmake_server('', PORT, app).serve_forever()\n", 5, "make_server"),
            ("import http.server as h\nh.HTTPServer(('', PORT), h.BaseHTTPRequestHandler).serve_forever()\n", 5, "h.HTTPServer"),
            (
                "import asyncio\nasync def serve():\n    server = await asyncio.start_server(print, '127.0.0.1', PORT)\n"
                "    await server.serve_forever()\nasyncio.run(serve())\n",
                8, "asyncio.run",
            ),
            ("import uvicorn\nuvicorn.run(app, host='0.0.0.0', port=PORT)\n", 5, "uvicorn.run"),
        ):  # fmt: skip
            with self.subTest(call):
                with self.assertRaises(Failed) as caught:
                    files = {"main.py": APP + code.replace("PORT", str(self.free_port())), **UVICORN}
                    self.run_function(files, entrypoint="main.app")
                self.assertEqual(caught.exception.message, ADVICE % (line, call))
                self.last.wait()
                self.assertNotIn(b"Traceback", self.last.output["stderr"])

    def test_names_the_module_that_calls(self):
        files = {"main.py": APP + "import serving\n", "serving.py": "import socket\nsocket.create_server(('', 8000)).accept()\n"}
        with self.assertRaises(Failed) as caught:
            self.run_function(files, entrypoint="main.app")
        self.assertTrue(caught.exception.message.startswith("serving.py, line 2, starts a server"), caught.exception.message)

    def test_a_server_for_the_program_itself_is_no_mistake(self):
        code = APP + "import uvicorn\nif __name__ == '__main__':\n    uvicorn.run(app)\n"
        channel = self.run_function({"main.py": code, **UVICORN}, entrypoint="main.app")
        self.assertEqual(channel.call().text, "served")
        self.assertEqual(self.last.output["stderr"], b"")

    def test_sockets_of_other_kinds_are_left_alone(self):
        code = """
            import os, socket
            with socket.socket() as one:
                one.bind(("127.0.0.1", 0))
                one.listen()
                socket.create_connection(one.getsockname(), source_address=("127.0.0.1", 0)).close()
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
                one.bind(("127.0.0.1", %d))
            with socket.socket(socket.AF_UNIX) as one:
                one.bind("\\0milepost-test-%%d" %% os.getpid())

            def main():
                # After the load, the sandbox decides.
                with socket.socket() as one:
                    one.bind(("127.0.0.1", %d))
                return "loaded"
        """
        channel = self.run_function(code % (self.free_port(), self.free_port()))
        self.assertEqual(channel.call().text, "loaded")
