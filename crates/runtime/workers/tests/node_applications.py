"""Applications of frameworks as functions, responses that a function sends itself, and the
attribution of output."""

import json
import re

from case import JSON, NodeCase
from drive import Failed

# The shapes of the real frameworks, without their packages.
FASTIFY = """
const http = require('node:http')
let started = false
module.exports = {
  server: http.createServer(), listen() {}, inject() {},
  async ready() { await new Promise((done) => setTimeout(done, 5)); started = true },
  routing(req, res) { res.setHeader('x-started', String(started)); res.end(req.method + ' ' + req.url) },
}
"""
OLD_FASTIFY = """
const http = require('node:http')
let started = false
const server = http.createServer((req, res) => { res.setHeader('x-started', String(started)); res.end(req.method + ' ' + req.url) })
module.exports = { server, async ready() { started = true } }
"""
KOA = """
module.exports = { middleware: [], use() {}, callback: () => (ctx, next) => { throw new Error('req and res') } }
module.exports.callback = () => (req, res) => { res.setHeader('x-started', 'true'); res.end(req.method + ' ' + req.url) }
"""
SERVER = """
const http = require('node:http')
module.exports = http.createServer((req, res) => {
  res.setHeader('x-started', 'true')
  res.end(req.method + ' ' + req.url)
})
"""


class Applications(NodeCase):
    def test_calls_an_application_object_like_a_listener(self):
        for code in (FASTIFY, OLD_FASTIFY, KOA, SERVER):
            for files, entrypoint in (
                ({"server.js": code}, ""),
                ({"server.js": code.replace("module.exports", "exports.app")}, "server.app"),
            ):
                channel = self.run_function(files, entrypoint=entrypoint)
                self.assertEqual(self.last.convention, "http")
                answer = channel.call("GET", "/hello?x=1")
                self.assertEqual((answer.text, answer.header("x-started")), ("GET /hello?x=1", "true"))

    def test_a_failed_startup_fails_the_load(self):
        with self.assertRaises(Failed) as caught:
            self.run_function(FASTIFY.replace("started = true", "throw new Error('no database')"))
        self.assertEqual(caught.exception.message, "Error: no database")

    def test_node_env_defaults_to_production(self):
        code = "module.exports = async () => process.env.NODE_ENV"
        self.assertEqual(self.run_function(code).call().text, "production")
        self.assertEqual(self.run_function(code, variables={"NODE_ENV": "test"}).call().text, "test")


class Responses(NodeCase):
    def test_a_function_sends_its_response_itself(self):
        for sent, expected in (
            ("r.send('hi')", (200, "text/html; charset=utf-8", b"hi")),
            ("r.status(404).send('gone')", (404, "text/html; charset=utf-8", b"gone")),
            ("r.status(201).json({ a: 1 })", (201, "application/json; charset=utf-8", b'{"a":1}')),
            ("r.send({ a: 1 })", (200, "application/json; charset=utf-8", b'{"a":1}')),
            ("r.send(Buffer.from('b'))", (200, "application/octet-stream", b"b")),
            ("r.set('content-type', 'text/css').send('x')", (200, "text/css", b"x")),
            ("r.type('text').send('x')", (200, "text/plain; charset=utf-8", b"x")),
            ("r.sendStatus(403)", (403, "text/plain; charset=utf-8", b"Forbidden")),
            ("r.end()", (200, None, b"")),
            ("r.status(204).end()", (204, None, b"")),
            ("r.write('a'), r.end('b')", (200, None, b"ab")),
            ("r.writeHead(202, { 'content-type': 'a/b' }), r.end('c')", (202, "a/b", b"c")),
        ):
            for code in (
                "module.exports = async (context) => { const r = context.response; %s }",
                "module.exports = (context) => { const r = context.response; setTimeout(() => { %s }, 5) }",
                "module.exports = async (context) => { await new Promise((d) => setTimeout(d, 1)); const r = context.response; %s }",
                "module.exports = (context, callback) => { const r = context.response; %s }",
            ):
                with self.subTest(code % sent):
                    channel = self.run_function(code % sent)
                    for _ in range(2):
                        answer = channel.call("POST", "/", [JSON], b"{}")
                        self.assertEqual((answer.status, answer.header("content-type"), answer.body), expected)

    def test_merges_the_set_headers_with_the_result(self):
        channel = self.run_function(
            """
            module.exports = async (context) => {
              context.response.status(202).set({ 'x-a': 1, 'x-b': 'two' }).append('x-c', 'one').append('x-c', 'two')
              return context.request.query.whole ? { status: 203, body: 'b', headers: { 'X-B': 'three' } } : 'text'
            }
            """
        )
        answer = channel.call()
        self.assertEqual((answer.status, answer.header("x-a"), answer.header("x-b"), answer.text), (202, "1", "two", "text"))
        self.assertEqual(answer.all("x-c"), ["one", "two"])
        answer = channel.call(target="/?whole=1")
        self.assertEqual((answer.status, answer.header("x-b"), answer.text), (203, "three", "b"))

    def test_a_redirect(self):
        channel = self.run_function("module.exports = async ({ response }) => response.redirect(301, '/there')")
        answer = channel.call()
        self.assertEqual((answer.status, answer.header("location")), (301, "/there"))

    def test_drops_late_and_repeated_responses(self):
        channel = self.run_function(
            """
            module.exports = async (context) => {
              const { user } = context.request.query
              context.response.send('balance of ' + user)
              setTimeout(() => { context.response.send('late of ' + user) }, 5)
              await new Promise((done) => setTimeout(done, 2))
              return 'second of ' + user
            }
            """
        )
        for user in ("alice", "bob", "carol", "dave", "erin", "frank") * 3:
            self.assertEqual(channel.call(target="/?user=" + user).text, "balance of " + user)


class Output(NodeCase):
    """Lines written after the response begin with the request's id, between two record
    separators."""

    LATE = """
    module.exports = async (context) => {
      const { user } = context.request.query
      console.log('early ' + user)
      setTimeout(() => {
        console.log('late ' + user + '\\nand more')
        process.stdout.write('a part '); process.stdout.write(Buffer.from('of ' + user + '\\n'))
        console.error('wrong ' + user)
      }, 20)
      return user
    }
    """

    def test_marks_output_after_the_response_with_its_request(self):
        channel = self.run_function(self.LATE)
        marks = {}
        for user in ("alice", "bob"):
            channel.call(target="/?user=" + user)
            marks[user] = b"\x1e%016x\x1e" % channel.id
        self.until(lambda: self.last.output["stderr"].count(b"\n") == 2, "late lines")
        self.until(lambda: self.last.output["stdout"].count(b"\n") == 8, "late lines")
        lines = self.last.output["stdout"].split(b"\n")
        for user, mark in marks.items():
            name = user.encode()
            self.assertIn(b"early " + name, lines)
            at = lines.index(mark + b"late " + name)
            self.assertEqual(lines[at + 1 : at + 3], [mark + b"and more", mark + b"a part of " + name])
            self.assertIn(mark + b"wrong " + name + b"\n", self.last.output["stderr"])

    def test_marks_every_line_with_concurrent_requests(self):
        self.last = self.worker(self.LATE)
        first = self.last.init(threads=2)
        second = self.last.open()
        first.request(target="/?user=alice")
        second.request(target="/?user=bob")
        self.assertEqual((first.response().text, second.response().text), ("alice", "bob"))
        self.until(lambda: self.last.output["stdout"].count(b"\n") == 8, "late lines")
        for channel, name in ((first, b"alice"), (second, b"bob")):
            mark = b"\x1e%016x\x1e" % channel.id
            for line in (b"early ", b"late ", b"a part of "):
                self.assertIn(mark + line + name + b"\n", self.last.output["stdout"])

    def test_an_error_after_the_response_is_only_logged(self):
        channel = self.run_function(
            """
            module.exports = async (context) => {
              const { user } = context.request.query
              if (user === 'alice') setTimeout(() => { throw new Error('late of alice') }, 20)
              else await new Promise((done) => setTimeout(done, 60))
              return 'balance of ' + user
            }
            """
        )
        self.assertEqual(channel.call(target="/?user=alice").text, "balance of alice")
        mark = b"\x1e%016x\x1e" % channel.id
        self.assertEqual(channel.call(target="/?user=bob").text, "balance of bob")
        self.assertTrue(self.last.output["stderr"].startswith(mark + b"Error: late of alice\n"), self.last.output["stderr"])

    def test_attributes_the_error_printed_by_express(self):
        # Its final handler responds first, and prints in a later turn.
        channel = self.run_function(
            """
            module.exports = (req, res) => {
              res.statusCode = 500
              res.end('Internal Server Error')
              setImmediate(() => console.error(new Error('boom').stack))
            }
            """
        )
        channel.call()
        self.until(lambda: b"boom" in self.last.output["stderr"], "the error")
        for line in self.last.output["stderr"].rstrip(b"\n").split(b"\n"):
            self.assertTrue(line.startswith(b"\x1e%016x\x1e" % channel.id), line)


class Children(NodeCase):
    def test_child_programs_inherit_no_socket(self):
        channel = self.run_function(
            """
            const { execFileSync } = require('node:child_process')
            module.exports = async () => execFileSync('ls', ['-l', '/proc/self/fd'], { stdio: ['inherit', 'pipe', 'inherit'] })
            """
        )
        listing = channel.call().text
        self.assertIn(" 0 ->", listing)
        self.assertNotIn("socket:", re.sub(r" [012] -> socket:", "", listing))

    def test_cluster_workers_and_threads_do_not_respond(self):
        channel = self.run_function(
            {
                "main.js": """
                const cluster = require('node:cluster')
                const { Worker } = require('node:worker_threads')
                module.exports = async (context) => {
                  if (!context.request.query.bg) return String(process.pid)
                  cluster.setupPrimary({ exec: __dirname + '/child.js' })
                  const child = cluster.fork()
                  const thread = new Worker(__dirname + '/child.js')
                  await Promise.all([child, thread].map((one) => new Promise((done) => one.on('exit', done))))
                  return JSON.stringify({ sent: typeof process.send })
                }
                """,
                "child.js": "process.send?.('hello'); process.disconnect?.()",
            }
        )
        self.assertEqual(json.loads(channel.call(target="/?bg=1").text), {"sent": "undefined"})
        self.assertEqual(channel.call().text, str(self.last.process.pid))
        self.assertEqual(channel.rest, b"")
