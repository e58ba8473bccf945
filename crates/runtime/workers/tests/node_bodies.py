"""Bodies of every size, faults, and concurrent requests."""

import os
import threading

from case import BIG, NodeCase
from drive import BODY, CANCEL, END, REQUEST, Threw, packed


class Bodies(NodeCase):
    def test_a_large_body_comes_back_whole(self):
        data = os.urandom(BIG)
        cases = {
            "context": "module.exports = async (context) => ({ body: context.request.rawBody })",
            "fetch": "module.exports = { fetch: async (request) => new Response(await request.arrayBuffer()) }",
        }
        for convention, code in cases.items():
            channel = self.run_function(code)
            self.assertEqual(self.last.convention, convention)
            sender = threading.Thread(target=self.send, args=(channel, data))
            sender.start()
            self.assertEqual(channel.response().body, data)
            sender.join()

    def test_a_large_body_streams_through(self):
        data = os.urandom(BIG)
        channel = self.run_function("module.exports = { fetch: (request) => new Response(request.body) }")
        sender = threading.Thread(target=self.send, args=(channel, data))
        sender.start()
        self.assertEqual(channel.response().body, data)
        sender.join()

    def test_one_frame_of_ten_megabytes(self):
        data = os.urandom(BIG)
        channel = self.run_function("module.exports = async (context) => ({ body: context.request.rawBody })")
        sender = threading.Thread(target=channel.request, args=("POST", "/", [], data))
        sender.start()
        self.assertEqual(channel.response().body, data)
        sender.join()

    def test_a_response_before_the_body_was_received(self):
        for code in (
            "module.exports = { fetch: (request) => new Response(new URL(request.url).pathname) }",
            "module.exports = (req, res) => res.end(req.url)",
        ):
            channel = self.run_function(code)
            channel.request("POST", "/early", [], b"x" * 10, end=False)
            self.assertEqual(channel.response().text, "/early")
            for _ in range(30):
                channel.body(b"y" * 50000)
            channel.body(b"z", end=True)
            self.assertEqual(channel.call("GET", "/next").text, "/next")

    def test_joins_fragmented_frames(self):
        channel = self.run_function("module.exports = async (context) => context.request.rawBody.toString()")
        head = b"POST\0/"
        channel.id = 1 << 63
        payload = len(head).to_bytes(4, "little") + head + b"abc"
        frames = packed(REQUEST, payload, 0, channel.id) + packed(BODY, b"def", END, channel.id)
        for byte in frames:
            channel.sock.sendall(bytes([byte]))
        self.assertEqual(channel.response().text, "abcdef")
        self.assertEqual(channel.call("POST", "/", [], b"x").text, "x")

    def test_text_that_nearly_fills_the_buffer_is_complete(self):
        channel = self.run_function("module.exports = async (context) => '€'.repeat(Number(context.request.query.n))")
        for count in (1, 20000, 21840, 21845, 27000, 27305, 30000, 100000):
            self.assertEqual(channel.call("GET", "/?n=%d" % count).text, "€" * count)


class Faults(NodeCase):
    def test_a_throw_is_an_error_with_a_stack_and_in_the_log(self):
        for code in ("module.exports = async () => { helper() }", "module.exports = () => { helper() }"):
            channel = self.run_function(code + "\nfunction helper() { throw new RangeError('too far') }")
            with self.assertRaises(Threw) as caught:
                channel.call()
            self.assertEqual(caught.exception.message, "RangeError: too far")
            self.assertIn("at helper", caught.exception.trace)
            self.assertNotIn("serve.mjs", caught.exception.trace)
            self.until(lambda: b"RangeError" in self.last.output["stderr"], "the stack in the log")
            with self.assertRaises(Threw):
                channel.call()

    def test_accepts_thrown_values_that_are_no_errors(self):
        with self.assertRaises(Threw) as caught:
            self.run_function("module.exports = async () => { throw 'words' }").call()
        self.assertIn("words", caught.exception.message)

    def test_an_unhandled_rejection_fails_the_request(self):
        for threads in (1, 2):
            channel = self.run_function(
                "module.exports = async (context) => { if (context.request.path === '/ok') return 'ok'; Promise.reject(new Error('lost')); return new Promise(() => {}) }",
                threads=threads,
            )
            with self.assertRaises(Threw) as caught:
                channel.call()
            self.assertEqual(caught.exception.message, "Error: lost")
            self.assertEqual(channel.call("GET", "/ok").text, "ok")

    def test_a_throw_in_a_timer_fails_the_request(self):
        channel = self.run_function(
            "module.exports = () => new Promise(() => setTimeout(() => { throw new Error('timer') }))"
        )
        for _ in range(2):
            with self.assertRaises(Threw) as caught:
                channel.call()
            self.assertEqual(caught.exception.message, "Error: timer")

    def test_a_stream_that_throws_is_cut_off(self):
        channel = self.run_function(
            "module.exports = async () => ({ body: (async function* () { yield 'a'; throw new Error('cut') })() })"
        )
        with self.assertRaises(Threw) as caught:
            channel.call()
        self.assertEqual((caught.exception.message, caught.exception.answer.status), ("Error: cut", 200))

    def test_an_endless_stream_stops_when_the_caller_leaves(self):
        wait = "await new Promise((resolve) => setTimeout(resolve, 5))"
        for code in (
            "module.exports = async () => ({ body: (async function* () { try { for (;;) { yield 'tick'; %s } } finally { console.log('closed') } })() })"
            % wait,
            "module.exports = { fetch: () => new Response(new ReadableStream({ async pull(c) { %s; c.enqueue(Buffer.from('tick')) }, cancel() { console.log('closed') } })) }"
            % wait,
        ):
            channel = self.run_function(code)
            channel.request()
            channel.read()
            channel.frame(CANCEL)
            while True:
                kind, flags, _ = channel.read()
                self.assertEqual(kind, BODY)
                if flags & END:
                    break
            self.until(lambda: self.last.output["stdout"].endswith(b"closed\n"), "the stream's end")

    def test_a_stalled_stream_stops_when_the_caller_leaves(self):
        channel = self.run_function(
            "module.exports = async () => ({ body: (async function* () { yield 'first'; await new Promise(() => {}) })() })"
        )
        channel.request()
        channel.read()
        channel.frame(CANCEL)
        self.assertEqual(channel.read(), (BODY, END, b""))

    def test_ignores_a_late_cancel(self):
        channel = self.run_function("module.exports = async (context) => context.request.path")
        channel.call()
        channel.frame(CANCEL)
        self.assertEqual(channel.call("GET", "/next").text, "/next")

    def test_leaving_during_the_request_body_is_an_error(self):
        channel = self.run_function("module.exports = async (context) => context.request.rawBody.toString()")
        channel.request("POST", "/", [], b"half", end=False)
        channel.frame(CANCEL)
        with self.assertRaises(Threw):
            channel.response()
        self.assertEqual(channel.call("POST", "/", [], b"whole").text, "whole")

    def test_a_truncated_body_does_not_look_complete(self):
        cut = packed(CANCEL) + packed(BODY, b"", END)
        for code in (
            "module.exports = async (context) => context.request.rawBody.toString()",
            "export default async (request) => new Response(await request.text())",
        ):
            name = "index.mjs" if code.startswith("export") else "index.js"
            channel = self.run_function({name: code})
            channel.request("POST", "/", [], b"half", end=False)
            channel.sock.sendall(cut)
            with self.assertRaises(Threw):
                channel.response()
            self.assertEqual(channel.call("POST", "/", [], b"whole").text, "whole")


class Concurrency(NodeCase):
    def test_four_slots_run_at_once(self):
        code = """
            const { requestId } = require('milepost')
            let waiting = []
            module.exports = async (context) => {
              await new Promise((resolve) => {
                waiting.push(resolve)
                if (waiting.length === 4) { waiting.forEach((one) => one()); waiting = [] }
              })
              return context.request.path + requestId()
            }
        """
        channels = [self.run_function(code, threads=4)] + [self.last.open() for _ in range(3)]
        for turn in range(3):
            for number, channel in enumerate(channels):
                channel.request("GET", "/%d/%d" % (turn, number), [(":id", "i%d" % number)])
            self.assertEqual([c.response().text for c in channels], ["/%d/%di%d" % (turn, n, n) for n in range(4)])
