"""Bodies of every size, faults, and concurrent requests."""

import os
import threading

from case import BIG, Case
from drive import BODY, CANCEL, END, REQUEST, RESPONSE, Answer, Threw, packed
from python_conventions import Asgi

ECHO = Asgi.ECHO
del Asgi  # do not run its tests in this module


class Bodies(Case):
    def test_a_large_body_comes_back_whole(self):
        data = os.urandom(BIG)
        for flags in ((), ("-S",)):
            channel = self.run_function(
                "from flask import request\ndef main():\n    return request.get_data()", flags=flags
            )
            sender = threading.Thread(target=self.send, args=(channel, data))
            sender.start()
            self.assertEqual(channel.response().body, data)
            sender.join()

    def test_a_large_body_streams_through(self):
        cases = {
            "request": "def main(request):\n    return iter(lambda: request.stream.read(65536) or None, None)",
            "wsgi": "def main(environ, start_response):\n    start_response('200 OK', [])\n    return iter(lambda: environ['wsgi.input'].read(65536), b'')",
            "asgi": ECHO.replace("async def app", "async def main"),
        }
        data = os.urandom(BIG)
        for convention, code in cases.items():
            channel = self.run_function(code)
            self.assertEqual(self.last.convention, convention)
            sender = threading.Thread(target=self.send, args=(channel, data))
            sender.start()
            self.assertEqual(channel.response().body, data)
            sender.join()

    def test_one_frame_of_ten_megabytes(self):
        data = os.urandom(BIG)
        for code in (
            "def main(request):\n    return request.get_data()",
            "async def main(request):\n    return request.get_data()",
        ):
            channel = self.run_function(code)
            sender = threading.Thread(target=channel.request, args=("POST", "/", [], data))
            sender.start()
            self.assertEqual(channel.response().body, data)
            sender.join()

    def test_a_stream_is_sent_piece_by_piece(self):
        channel = self.run_function("""
            def main(request):
                def pieces():
                    yield "first"
                    yield request.stream.read()
                return pieces(), {"content-type": "text/event-stream"}
        """)
        channel.request("POST", "/", [], b"", end=False)
        kind, flags, payload = channel.read()
        self.assertEqual((kind, flags, Answer.head(payload).body), (RESPONSE, 0, b"first"))
        channel.body(b"second", end=True)
        self.assertEqual(channel.read(), (BODY, 0, b"second"))
        self.assertEqual(channel.read(), (BODY, END, b""))

    def test_asgi_reports_the_end_of_a_body_that_ended_unobserved(self):
        fifo = os.path.join(self.write({}), "fifo")
        os.mkfifo(fifo)
        channel = self.run_function(
            """
            import asyncio
            async def app(scope, receive, send):
                first = await receive()
                await send({"type": "http.response.start", "status": 200, "headers": []})
                await send({"type": "http.response.body", "body": first["body"], "more_body": True})
                await asyncio.get_running_loop().run_in_executor(None, lambda: open(%r).read())
                for _ in range(5):
                    await asyncio.sleep(0)  # what has come by now is seen
                said = await receive()
                told = "%%s %%s %%r" %% (first["more_body"], said["type"], said.get("more_body"))
                await send({"type": "http.response.body", "body": told.encode()})
            """
            % fifo,
            entrypoint="main.app",
        )
        for cut, told in ((False, b"True http.request False"), (True, b"True http.disconnect None")):
            channel.request("POST", "/", [], b"first", end=False)
            kind, _, payload = channel.read()
            self.assertEqual((kind, Answer.head(payload).body), (RESPONSE, b"first"))
            if cut:
                channel.frame(CANCEL)
            channel.body(b"", end=True)
            with open(fifo, "w"):
                pass
            self.assertEqual(channel.read(), (BODY, END, told))

    def test_a_response_before_the_body_was_received(self):
        for code in ("def main(request):\n    return request.path", "async def app(scope, receive, send):\n"
                     "    await send({'type': 'http.response.start', 'status': 200, 'headers': []})\n"
                     "    await send({'type': 'http.response.body', 'body': scope['path'].encode()})"):  # fmt: skip
            channel = self.run_function(code)
            channel.request("POST", "/early", [], b"x" * 10, end=False)
            self.assertEqual(channel.response().text, "/early")
            for _ in range(30):
                channel.body(b"y" * 50000)
            channel.body(b"z", end=True)
            self.assertEqual(channel.call("GET", "/next").text, "/next")

    def test_joins_fragmented_frames(self):
        for code in (
            "def main(request):\n    return request.get_data()",
            "async def main(request):\n    return request.get_data()",
        ):
            channel = self.run_function(code)
            head = b"POST\0/"
            channel.id = 1 << 63
            payload = len(head).to_bytes(4, "little") + head + b"abc"
            frames = packed(REQUEST, payload, 0, channel.id) + packed(BODY, b"def", END, channel.id)
            for byte in frames:
                channel.sock.sendall(bytes([byte]))
            self.assertEqual(channel.response().text, "abcdef")
            self.assertEqual(channel.call("POST", "/", [], b"x").text, "x")

    def test_head_ends_without_a_body(self):
        channel = self.run_function("def main(request):\n    return iter(['a', 'b'])")
        answer = channel.call("HEAD")
        self.assertEqual((answer.status, answer.body), (200, b""))
        channel = self.run_function("def main(request):\n    return 'x', 204")
        self.assertEqual(channel.call().body, b"")


class Faults(Case):
    def test_an_exception_is_an_error_with_a_trace_and_in_the_log(self):
        channel = self.run_function("def main(request):\n    return helper()\ndef helper():\n    return 1 / 0")
        with self.assertRaises(Threw) as caught:
            channel.call()
        self.assertEqual(caught.exception.message, "ZeroDivisionError: division by zero")
        self.assertIn("in helper", caught.exception.trace)
        self.assertNotIn("_milepost", caught.exception.trace)
        self.until(lambda: b"ZeroDivisionError" in self.last.output["stderr"], "the traceback in the log")
        with self.assertRaises(Threw):
            channel.call()

    def test_a_stream_that_throws_is_cut_off(self):
        channel = self.run_function("def main(request):\n    yield 'a'\n    raise ValueError('cut')")
        with self.assertRaises(Threw) as caught:
            channel.call()
        self.assertEqual((caught.exception.message, caught.exception.answer.status), ("ValueError: cut", 200))

    def test_a_stream_that_throws_at_once_sends_no_head(self):
        channel = self.run_function("def main(request):\n    raise ValueError('early')\n    yield 'a'")
        with self.assertRaises(Threw) as caught:
            channel.call()
        self.assertIsNone(caught.exception.answer)

    def test_explains_an_invalid_result(self):
        channel = self.run_function("def main():\n    return object")
        with self.assertRaises(Threw):
            channel.call()
        channel = self.run_function("def main():\n    return {1, 2}")
        with self.assertRaises(Threw) as caught:
            channel.call()
        self.assertIn("the function returned set", caught.exception.message)

    def test_an_endless_stream_stops_when_the_caller_leaves(self):
        for code in ("def main(request):\n", "def app(environ, start_response):\n    start_response('200 OK', [])\n"):
            channel = self.run_function(
                code + "    try:\n        while True:\n            yield b'tick'\n    finally:\n        print('closed')"
            )
            channel.request()
            channel.read()
            channel.frame(CANCEL)
            while True:
                kind, flags, _ = channel.read()
                self.assertEqual(kind, BODY)
                if flags & END:
                    break
            self.until(lambda: self.last.output["stdout"] == b"closed\n", "the generator's end")

    def test_ignores_a_late_cancel(self):
        for code in (
            "def main(request):\n    return request.path",
            "async def main(request):\n    return request.path",
        ):
            channel = self.run_function(code)
            channel.call()
            channel.frame(CANCEL)
            self.assertEqual(channel.call("GET", "/next").text, "/next")

    def test_leaving_during_the_request_body_raises_in_the_reader(self):
        channel = self.run_function("""
            def main(request):
                try:
                    return request.get_data()
                except ConnectionError as error:
                    print(error)
                    raise
        """)
        channel.request("POST", "/", [], b"half", end=False)
        channel.frame(CANCEL)
        with self.assertRaises(Threw):
            channel.response()
        self.until(lambda: b"went away" in self.last.output["stdout"], "the exception")
        self.assertEqual(channel.call("POST", "/", [], b"whole").text, "whole")


class Concurrency(Case):
    def test_four_slots_run_at_once(self):
        code = """
            import threading
            barrier = threading.Barrier(4, timeout=20)
            def main(request):
                barrier.wait()
                return request.path
        """
        channels = [self.run_function(code, threads=4)] + [self.last.open() for _ in range(3)]
        for turn in range(3):
            for number, channel in enumerate(channels):
                channel.request("GET", "/%d/%d" % (turn, number))
            self.assertEqual([c.response().text for c in channels], ["/%d/%d" % (turn, n) for n in range(4)])

    def test_each_slot_has_its_own_flask_request(self):
        code = """
            import threading
            from flask import request
            barrier = threading.Barrier(4, timeout=20)
            def main():
                barrier.wait()
                before = request.path
                barrier.wait()
                return before + request.path
        """
        for flags in ((), ("-S",)):
            channels = [self.run_function(code, threads=4, flags=flags)] + [self.last.open() for _ in range(3)]
            for number, channel in enumerate(channels):
                channel.request("GET", "/%d" % number)
            self.assertEqual([c.response().text for c in channels], ["/%d/%d" % (n, n) for n in range(4)])
