"""Children that functions fork: only the worker itself responds, and each caller gets the response
to its own request."""

import socket

from case import Case
from drive import Failed

FORKS = """
import os, sys, time
def work(request):
    if request.args.get("bg"):
        %s
    return "balance of " + request.args["user"]
"""
RETURNS = "if os.fork() == 0: time.sleep(0.05)"
RETURNS_IN_A_THREAD = """
        import threading
        def later():
            if os.fork() == 0:
                time.sleep(0.05)
                state["slow"](request)
        state = {"slow": lambda request: sys.exit(0)}
        thread = threading.Thread(target=later)
        thread.start()
        thread.join()
"""
MULTIPROCESSING = """
        import multiprocessing
        process = multiprocessing.get_context("fork").Process(target=time.sleep, args=(0.05,))
        process.start()
"""
THROWS = """
        if os.fork() == 0:
            raise ValueError("in the child")
"""
SHAPES = {
    "request": FORKS + "def main(request):\n    return work(request)\n",
    "async": FORKS + "async def main(request):\n    return work(request)\n",
    "wsgi": FORKS
    + """
from urllib.parse import parse_qsl
class Fake:
    pass
def main(environ, start_response):
    request = Fake()
    request.args = dict(parse_qsl(environ["QUERY_STRING"]))
    text = work(request)
    start_response("200 OK", [])
    return [text.encode()]
""",
    "asgi": FORKS
    + """
from urllib.parse import parse_qsl
class Fake:
    pass
async def main(scope, receive, send):
    request = Fake()
    request.args = dict(parse_qsl(scope["query_string"].decode()))
    text = work(request)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": text.encode()})
""",
}
USERS = ("bob", "carol", "dave", "erin", "frank")


class Children(Case):
    def children_are_gone(self):
        """Whether everything that the worker forked has ended. Zombies count, since functions do
        not wait for children."""
        pid = self.last.process.pid
        with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
            children = file.read().split()

        def ended(child):
            try:
                with open("/proc/%s/stat" % child) as file:
                    return file.read().rpartition(")")[2].split()[0] == "Z"
            except OSError:
                return True

        return all(ended(child) for child in children)

    def nothing_more(self, channel):
        """Asserts that the connection is silent: every response that was sent has been read."""
        self.assertEqual(channel.rest, b"")
        channel.sock.setblocking(False)
        try:
            with self.assertRaises(BlockingIOError):
                channel.sock.recv(1, socket.MSG_PEEK)
        finally:
            channel.sock.settimeout(20)

    def test_a_child_that_returns_does_not_respond(self):
        for shape, code in SHAPES.items():
            for fault in (RETURNS, RETURNS_IN_A_THREAD, MULTIPROCESSING, THROWS):
                with self.subTest(shape=shape, fault=fault):
                    channel = self.run_function(code % fault)
                    self.assertEqual(channel.call(target="/?user=alice&bg=1").text, "balance of alice")
                    for user in USERS[:2]:
                        self.assertEqual(channel.call(target="/?user=" + user).text, "balance of " + user)
                    self.until(self.children_are_gone, "the child's end")
                    self.nothing_more(channel)
                    for user in USERS[2:]:
                        self.assertEqual(channel.call(target="/?user=" + user).text, "balance of " + user)

    def test_logs_a_child_that_returned(self):
        channel = self.run_function(SHAPES["request"] % RETURNS)
        channel.call(target="/?user=alice&bg=1")
        self.until(lambda: b"os._exit()" in self.last.output["stderr"], "a line about the child")

    def test_a_child_forked_on_import_does_not_respond(self):
        channel = self.run_function(
            "import os, time\nif os.fork() == 0: time.sleep(0.05)\ndef main(request):\n    return 'from %d' % os.getpid()\n"
        )
        pid = self.last.process.pid
        self.until(self.children_are_gone, "the child's end")
        self.assertEqual(channel.call().text, "from %d" % pid)
        self.nothing_more(channel)

    def test_a_child_that_fails_on_import_does_not_respond(self):
        channel = self.run_function(
            "import os, time\nif os.fork() == 0: raise ValueError('in the child')\ndef main(request):\n    return 'fine'\n"
        )
        self.until(self.children_are_gone, "the child's end")
        self.assertEqual(channel.call().text, "fine")
        with self.assertRaises(Failed):
            self.run_function("raise ValueError('in the worker')")

    def test_child_programs_inherit_no_socket(self):
        channel = self.run_function(
            """
            import os, subprocess
            def main(request):
                listing = subprocess.run(["ls", "-l", "/proc/self/fd"], close_fds=False, stdout=subprocess.PIPE).stdout
                return listing
            """
        )
        listing = channel.call().text
        self.assertNotIn("socket:", listing)

    def test_late_use_of_a_request_is_an_error(self):
        channel = self.run_function(
            """
            import threading
            kept = []
            def main(environ, start_response):
                write = start_response("200 OK", [])
                if environ["PATH_INFO"] == "/keep":
                    kept.append((write, environ["wsgi.input"]))
                    return [b"kept"]
                said = []
                def late():
                    for use in (lambda: kept[0][0](b"stolen"), lambda: kept[0][1].read(1)):
                        try:
                            said.append(repr(use()))
                        except RuntimeError as error:
                            said.append(str(error))
                thread = threading.Thread(target=late)
                thread.start()
                thread.join()
                return ["; ".join(said).encode()]
            """
        )
        channel.request("POST", "/keep", [("content-length", "6")], b"abc", end=False)
        self.assertEqual(channel.response().text, "kept")
        channel.body(b"def", end=True)
        answer = channel.call("POST", "/", [("content-length", "3")], b"bob")
        self.assertNotIn("bob", answer.text)
        self.assertIn("the response to this request is complete", answer.text)
        self.nothing_more(channel)
