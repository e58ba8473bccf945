"""The calling conventions: contexts, events, fetch, and Node's own HTTP."""

import os
import threading

from case import BIG, JSON, NodeCase
from drive import BODY, CANCEL, END, RESPONSE, Answer, Threw

FORM = ("content-type", "application/x-www-form-urlencoded")


class Context(NodeCase):
    """`async (context) => ({ status, body, headers })`."""

    ECHO = """
        module.exports = async (context) => {
          const r = context.request
          return { status: 201, headers: { 'X-Many': ['1', '2'], 'set-cookie': ['a=1', 'b=2'] }, body: { method: r.method, url: r.url, path: r.path,
            headers: r.headers, query: r.query, params: r.params, body: r.body, raw: r.rawBody.toString('hex'), cookies: r.cookies, ip: r.ip, agent: r.get('User-Agent') } }
        }
    """

    def test_the_request_has_what_functions_use(self):
        channel = self.run_function(self.ECHO)
        self.assertEqual(self.last.convention, "context")
        headers = [
            ("user-agent", "t/1"),
            ("x-m", "1"),
            ("x-m", "2"),
            ("cookie", "a=1; b=%C3%BC"),
            (":param.id", "ü"),
            (":param.größe", ""),
            (":client", "10.0.0.9"),
            JSON,
        ]
        answer = channel.call("POST", "/u/%C3%BC?a=1&b=2&b=3", headers, '{"x": "€"}'.encode())
        self.assertEqual(
            (answer.status, answer.all("x-many"), answer.all("set-cookie")), (201, ["1", "2"], ["a=1", "b=2"])
        )
        found = answer.json()
        self.assertEqual((found["method"], found["url"], found["path"]), ("POST", "/u/%C3%BC?a=1&b=2&b=3", "/u/ü"))
        self.assertEqual((found["query"], found["params"]), ({"a": "1", "b": ["2", "3"]}, {"id": "ü", "größe": ""}))
        self.assertEqual((found["headers"]["x-m"], found["agent"], found["ip"]), ("1, 2", "t/1", "10.0.0.9"))
        self.assertEqual((found["body"], found["cookies"]), ({"x": "€"}, {"a": "1", "b": "ü"}))
        self.assertEqual(bytes.fromhex(found["raw"]).decode(), '{"x": "€"}')

    def test_bodies_are_parsed_by_their_type(self):
        channel = self.run_function(
            "module.exports = async (context) => ({ body: { is: Buffer.isBuffer(context.request.body), body: context.request.body } })"
        )

        def post(kind, data):
            return channel.call("POST", "/", [("content-type", kind)] if kind else [], data)

        self.assertEqual(post("text/plain", "tëxt".encode()).json()["body"], "tëxt")
        self.assertEqual(post(FORM[1], b"a=1&b=2&b=3").json()["body"], {"a": "1", "b": ["2", "3"]})
        self.assertEqual(post("application/problem+json; charset=utf-8", b"[1]").json()["body"], [1])
        self.assertTrue(post("application/octet-stream", b"\x00\xff").json()["is"])
        self.assertEqual(post("application/json", b"{").status, 400)
        self.assertEqual(channel.call().json()["body"], {})

    def test_results(self):
        channel = self.run_function("""
            const { Readable } = require('node:stream')
            const results = {
              text: () => 't€xt', status: () => ({ status: 404, body: 'no' }), buffer: () => ({ body: Buffer.from([0, 255]) }), object: () => ({ a: 'ü' }), list: () => [1],
              nothing: () => undefined, stream: () => ({ headers: { 'content-type': 'text/plain' }, body: Readable.from(['a', 'b']) }), number: () => 5,
              response: () => new Response('r', { status: 202, headers: [['set-cookie', 'a=1'], ['set-cookie', 'b=2']] }),
              generator: () => (function* () { yield 'x'; yield 'y' })(), asyncGenerator: () => ({ body: (async function* () { yield 'x'; yield Buffer.from('z') })() }),
              headers: () => ({ body: 'x', headers: { 'x-l': 'caf\\u00e9', 'x-w': '€' } }), bad: () => ({ body: 'x', headers: { 'x-a': 'a\\0b' } }), fact: () => ({ body: 'x', headers: { ':id': '1' } }),
            }
            module.exports = async (context) => results[context.request.path.slice(1)]()
        """)

        def get(name, method="GET"):
            return channel.call(method, "/" + name)

        text = get("text")
        self.assertEqual(
            (text.status, text.text, text.header("content-type")), (200, "t€xt", "text/html; charset=utf-8")
        )
        self.assertEqual((get("status").status, get("status").text), (404, "no"))
        self.assertEqual(
            (get("buffer").body, get("buffer").header("content-type")), (b"\x00\xff", "application/octet-stream")
        )
        self.assertEqual((get("object").json(), get("list").json(), get("number").json()), ({"a": "ü"}, [1], 5))
        self.assertEqual((get("nothing").status, get("nothing").body), (204, b""))
        self.assertEqual((get("stream").text, get("stream").header("content-type")), ("ab", "text/plain"))
        self.assertEqual(
            (get("response").status, get("response").text, get("response").all("set-cookie")),
            (202, "r", ["a=1", "b=2"]),
        )
        self.assertEqual((get("generator").text, get("asyncGenerator").text), ("xy", "xz"))
        self.assertIn((b"x-l", b"caf\xe9"), get("headers").headers)
        self.assertIn((b"x-w", "€".encode()), get("headers").headers)
        for name in ("bad", "fact"):
            with self.assertRaises(Threw):
                get(name)
        head = get("text", "HEAD")
        self.assertEqual((head.body, head.header("content-length")), (b"", "6"))
        self.assertEqual(get("stream", "HEAD").body, b"")

    def test_the_callback_form(self):
        channel = self.run_function(
            "module.exports = (context, callback) => setTimeout(() => callback(202, 'later', { 'x-a': '1' }), 1)"
        )
        self.assertEqual(self.last.convention, "callback")
        answer = channel.call()
        self.assertEqual((answer.status, answer.text, answer.header("x-a")), (202, "later", "1"))

    def test_context_and_input(self):
        channel = self.run_function("exports.main = (context, input) => ({ got: input })", entrypoint="index.main")
        self.assertEqual(self.last.convention, "input")
        self.assertEqual(channel.call("POST", "/", [JSON], b'"a \\"text\\""').json(), {"got": 'a "text"'})
        self.assertEqual(channel.call("POST", "/", [JSON], b"[1, 2]").json(), {"got": "[1, 2]"})
        self.assertEqual(channel.call("POST", "/", [], b'{"a": 1}').json(), {"got": {"a": 1}})
        self.assertEqual(channel.call("POST", "/", [], b"text").json(), {"got": "text"})
        self.assertEqual(channel.call("GET", "/?a=1").json(), {"got": {"a": "1"}})
        channel = self.run_function(
            "exports.main = async (context, { name = 'World' }) => undefined", entrypoint="index.main"
        )
        self.assertEqual((self.last.convention, channel.call().body), ("input", b"null"))


class Events(NodeCase):
    def test_handler_gets_an_event(self):
        channel = self.run_function("""
            exports.handler = async (event, context) => ({ statusCode: 201, headers: { 'X-A': 1 }, cookies: ['a=1', 'b=2'],
              body: JSON.stringify({ event, id: context.awsRequestId, left: context.getRemainingTimeInMillis() > 1000 }) })
        """, entrypoint="index.handler")  # fmt: skip
        self.assertEqual(self.last.convention, "event")
        headers = [
            (":id", "r1"),
            (":deadline", "5000"),
            (":param.id", "7"),
            ("cookie", "c=1"),
            ("content-type", "text/plain"),
        ]
        answer = channel.call("POST", "/u/7?a=1&b=2&b=3", headers, "tëxt".encode())
        self.assertEqual((answer.status, answer.header("x-a"), answer.all("set-cookie")), (201, "1", ["a=1", "b=2"]))
        found = answer.json()
        event = found["event"]
        self.assertEqual(
            (event["httpMethod"], event["path"], event["body"], event["isBase64Encoded"]),
            ("POST", "/u/7", "tëxt", False),
        )
        self.assertEqual(
            (event["queryStringParameters"], event["pathParameters"], event["cookies"]),
            ({"a": "1", "b": "2,3"}, {"id": "7"}, ["c=1"]),
        )
        self.assertEqual((found["id"], found["left"]), ("r1", True))

    def test_binary_callbacks_and_plain_values(self):
        channel = self.run_function("""
            exports.handler = (event, context, callback) => event.body === null ? callback(null, [1])
              : callback(null, { statusCode: 200, body: event.body, isBase64Encoded: event.isBase64Encoded })
        """, entrypoint="index.handler")  # fmt: skip
        data = bytes(range(256))
        self.assertEqual(channel.call("POST", "/", [("content-type", "image/png")], data).body, data)
        self.assertEqual(channel.call().json(), [1])


class Fetch(NodeCase):
    ECHO = {"index.mjs": """
        export default { async fetch(request) {
          if (request.method === 'GET') return Response.json({ url: request.url, headers: [...request.headers], isRequest: request instanceof Request })
          return new Response(request.body, { status: 201, headers: { 'content-type': 'x/y' } })
        } }
    """}  # fmt: skip

    def test_uses_the_webs_request_and_response(self):
        channel = self.run_function(self.ECHO)
        self.assertEqual(self.last.convention, "fetch")
        answer = channel.call(
            "GET",
            "/a%20b?q=1",
            [("host", "shop.localhost:8080"), ("x-m", "1"), ("x-m", "2"), (":id", "1"), ("x-l", b"\xe9")],
        )
        found = answer.json()
        self.assertEqual((found["url"], found["isRequest"]), ("http://shop.localhost:8080/a%20b?q=1", True))
        self.assertEqual(dict(found["headers"])["x-m"], "1, 2")
        self.assertEqual(dict(found["headers"])["x-l"], "é")
        self.assertEqual(answer.header("content-type"), "application/json")
        echo = channel.call("POST", "/", [], bytes(range(256)))
        self.assertEqual((echo.status, echo.body, echo.header("content-type")), (201, bytes(range(256)), "x/y"))
        self.assertEqual(channel.call("POST", "/").body, b"")
        self.assertEqual(channel.call("HEAD", "/").body, b"")

    def test_bodies_stream_both_ways(self):
        channel = self.run_function(self.ECHO)
        channel.request("POST", "/", [], b"one", end=False)
        kind, flags, payload = channel.read()
        self.assertEqual((kind, flags, Answer.head(payload).body), (RESPONSE, 0, b"one"))
        channel.body(b"two")
        self.assertEqual(channel.read(), (BODY, 0, b"two"))
        channel.body(b"", end=True)
        self.assertEqual(channel.read(), (BODY, END, b""))
        self.assertEqual(channel.call("POST", "/", [], b"again").body, b"again")

    def test_cookies_and_a_named_export(self):
        files = {
            "index.mjs": "export function fetch(r) { const h = new Headers(); h.append('set-cookie', 'a=1'); h.append('set-cookie', 'b=2'); return new Response('ü', { headers: h }) }"
        }
        answer = self.run_function(files).call()
        self.assertEqual((answer.text, answer.all("set-cookie")), ("ü", ["a=1", "b=2"]))

    def test_a_function_of_request_is_fetch(self):
        channel = self.run_function(
            {"index.mjs": "export default async (request) => new Response(await request.text())"}
        )
        self.assertEqual(self.last.convention, "fetch")
        self.assertEqual(channel.call("POST", "/", [], "tëxt".encode()).text, "tëxt")

    def test_leaving_aborts_the_signal(self):
        channel = self.run_function({"index.mjs": """
            export default { fetch: (request) => new Promise((resolve) => request.signal.addEventListener('abort', () => { console.log('gone'); resolve(new Response('late')) })) }
        """})  # fmt: skip
        channel.request()
        channel.frame(CANCEL)
        self.assertEqual(channel.response().text, "late")
        self.until(lambda: self.last.output["stdout"] == b"gone\n", "the signal")


class Http(NodeCase):
    def test_req_and_res(self):
        channel = self.run_function("""
            module.exports = (req, res) => {
              const parts = []
              req.on('data', (part) => parts.push(part))
              req.on('end', () => {
                res.statusCode = 201
                res.setHeader('Set-Cookie', ['a=1', 'b=2'])
                res.writeHead(202, { 'X-A': '1' })
                res.write(JSON.stringify([req.method, req.url, req.headers['x-m'], req.socket.remoteAddress]))
                res.end(Buffer.concat(parts))
              })
            }
        """)
        self.assertEqual(self.last.convention, "http")
        answer = channel.call("POST", "/x?y=1", [("x-m", "1"), ("x-m", "2"), (":client", "1.2.3.4")], b"body")
        self.assertEqual((answer.status, answer.header("x-a"), answer.all("set-cookie")), (202, "1", ["a=1", "b=2"]))
        self.assertEqual(answer.text, '["POST","/x?y=1","1, 2","1.2.3.4"]body')

    def test_frameworks_may_replace_the_prototypes_of_both(self):
        channel = self.run_function("""
            const http = require('node:http')
            const request = Object.create(http.IncomingMessage.prototype)
            const response = Object.create(http.ServerResponse.prototype)
            response.send = function (text) { this.setHeader('x-sent', '1'); this.end(text) }
            module.exports = (req, res, next) => {
              Object.setPrototypeOf(req, request)
              Object.setPrototypeOf(res, response)
              let text = ''
              req.setEncoding('utf8').on('data', (part) => (text += part)).on('end', () => res.send(text))
            }
        """)
        answer = channel.call("POST", "/", [], "tëxt".encode())
        self.assertEqual((answer.text, answer.header("x-sent")), ("tëxt", "1"))

    def test_pipes_and_async_handlers(self):
        channel = self.run_function(
            "module.exports = async (req, res) => { if (req.url === '/throw') throw new Error('thrown'); await null; req.pipe(res) }"
        )
        data = os.urandom(BIG)
        sender = threading.Thread(target=self.send, args=(channel, data))
        sender.start()
        self.assertEqual(channel.response().body, data)
        sender.join()
        with self.assertRaises(Threw) as caught:
            channel.call("GET", "/throw")
        self.assertEqual(caught.exception.message, "Error: thrown")
        head = self.run_function("module.exports = (req, res) => res.end('abc')").call("HEAD")
        self.assertEqual((head.body, head.header("content-length")), (b"", "3"))
