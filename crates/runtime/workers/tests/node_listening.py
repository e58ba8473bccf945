"""Programs that call `listen`: no port opens, and the server that listens gets the requests."""

import json
import socket

from case import NodeCase
from drive import Failed

NOTE = b"the function listens on port %d, which stays closed here: requests reach it through its routes\n"
EXPORT = "xport the app: `module.exports = app` (`export default app` in an ES module)"
HTTP = "const http = require('node:http'); const app = (req, res) => res.end('at ' + req.url);"


class Listening(NodeCase):
    def free_port(self):
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            return one.getsockname()[1]

    def assert_closed(self, port):
        with socket.socket() as one:
            self.assertNotEqual(one.connect_ex(("127.0.0.1", port)), 0, "the port is open")

    def test_an_exported_server_opens_no_port_when_it_listens(self):
        port = self.free_port()
        for how in ("%d", "'%d'", "{ port: %d }", "%d, '0.0.0.0'", "%d, '127.0.0.1', () => {}", "{ port: %d, host: '::' }"):
            with self.subTest(how):
                code = HTTP + "module.exports = http.createServer(app).listen(%s)" % (how % port)
                self.assertEqual(self.run_function(code).call(target="/x").text, "at /x")
                self.assert_closed(port)
                self.assertEqual(self.last.output["stderr"], NOTE % port)

    def test_two_instances_of_a_program_that_listens_answer(self):
        code = HTTP + "module.exports = http.createServer(app); module.exports.listen(%d)" % self.free_port()
        first, second = self.run_function(code), self.run_function(code)
        for channel in (first, second, first):
            self.assertEqual(channel.call(target="/").text, "at /")

    def test_serves_the_server_that_listens_when_nothing_is_exported(self):
        port = self.free_port()
        for start in (
            "http.createServer(app).listen(PORT)",
            "http.createServer(app).listen(process.env.NO_SUCH)",
            "http.createServer(app).listen(0)",
            "http.createServer(app).listen(PORT); http.createServer(app).listen(PORT, '::1')",
            "setTimeout(() => http.createServer(app).listen(PORT), 50)",
            "http.createServer(app).listen(PORT); exports.helper = () => 'help'",
            "http.createServer(app).listen(PORT); http.createServer((req, res) => res.end('inner')).listen(0)",
            "require('node:https').createServer(app).listen(PORT)",
            "require('node:http2').createServer(app).listen(PORT)",
        ):
            with self.subTest(start):
                channel = self.run_function(HTTP + start.replace("PORT", str(port)))
                self.assertEqual(self.last.convention, "http")
                self.assertEqual(channel.call(target="/x").text, "at /x")
                self.assert_closed(port)

    def test_the_server_looks_as_if_it_listened(self):
        channel = self.run_function(
            """
            const events = []
            const server = require('node:http').createServer((req, res) => res.end(JSON.stringify(events)))
            server.on('listening', () => events.push('event'))
            server.listen(3000, 'localhost', () => events.push(server.address(), server.listening))
            const other = require('node:http').createServer(() => {}).listen(3001, () => {
              other.close(() => events.push(other.address(), other.listening))
            })
            try { server.listen(3002) } catch (error) { events.push(error.code) }
            """
        )
        self.assertEqual(
            json.loads(channel.call().text),
            ["ERR_SERVER_ALREADY_LISTEN", "event", {"address": "127.0.0.1", "family": "IPv4", "port": 3000}, True, None, False],
        )

    def test_a_library_reaches_its_own_server_on_a_port_of_the_kernels_choice(self):
        channel = self.run_function(
            """
            const http = require('node:http')
            const inner = http.createServer((req, res) => res.end('inner')).listen(0)
            module.exports = async (context) => {
              const { address, port } = inner.address()
              return address + ' ' + (await (await fetch(`http://localhost:${port}/`)).text())
            }
            """
        )
        self.assertEqual(channel.call().text, "127.0.0.1 inner")
        self.assertEqual(self.last.output["stderr"], b"")

    def test_a_unix_socket_is_open(self):
        channel = self.run_function(
            """
            const http = require('node:http')
            const path = require('node:path').join(process.env.HOME, 'own')
            module.exports = async () => new Promise((done) => {
              const server = http.createServer((req, res) => res.end('own')).listen(path, () =>
                http.get({ socketPath: path }, (answer) => answer.on('data', (data) => {
                  server.close()
                  server.closeAllConnections?.()
                  done(String(data))
                })))
            })
            """
        )
        self.assertEqual(channel.call().text, "own")

    def test_says_what_to_export_when_no_server_can_be_served(self):
        for start, message in (
            ("console.log('up')", "index.js exports nothing to call, and no server in it listens. E"),
            (
                "http.createServer(app).listen(3000); http.createServer(() => {}).listen(9090)",
                "index.js starts 2 servers of its own and exports nothing to call. E",
            ),
            (
                "require('node:net').createServer(() => {}).listen(3000)",
                "index.js starts a server of its own that does not speak HTTP and exports nothing to call. E",
            ),
        ):
            with self.assertRaises(Failed) as caught:
                self.run_function(HTTP + start)
            self.assertEqual(caught.exception.message, message + EXPORT)

    def test_an_error_before_it_listens_fails_the_load(self):
        with self.assertRaises(Failed) as caught:
            self.run_function(HTTP + "Promise.reject(new Error('no database')).then(() => http.createServer(app).listen(1))")
        self.assertEqual(caught.exception.message, "Error: no database")

    def test_an_export_takes_precedence_over_a_server(self):
        channel = self.run_function(HTTP + "http.createServer(app).listen(3000); module.exports = async (context) => 'exported'")
        self.assertEqual(channel.call().text, "exported")


# The parts of Fastify that make an application of a plugin.
FASTIFY = """
module.exports = (options) => {
  const routes = {}
  return {
    server: require('node:http').createServer(),
    get(path, handler) { routes[path] = handler },
    async register(plugin, opts) { await plugin(this, opts) },
    async ready() {},
    async routing(req, res) { res.end(JSON.stringify([options, await routes[req.url]()])) },
  }
}
"""


class Plugins(NodeCase):
    PLUGIN = "module.exports = async function (fastify, opts) { fastify.get('/', async () => opts) }"

    def test_serves_a_plugin_with_the_packages_fastify(self):
        for code in (
            self.PLUGIN,
            self.PLUGIN + "\nmodule.exports.options = { a: 1 }",
            "module.exports = async (fastify, opts) => { fastify.get('/', async () => opts) }",
            "module.exports = async (app, opts) => { app.get('/', async () => opts) }\n"
            "module.exports[Symbol.for('skip-override')] = true",
        ):
            with self.subTest(code):
                channel = self.run_function({"index.js": code, "node_modules/fastify/index.js": FASTIFY})
                self.assertEqual(self.last.convention, "http")
                options = {"a": 1} if "a: 1" in code else {}
                self.assertEqual(channel.call().json(), [options, options])
        module = self.PLUGIN.replace("module.exports =", "export default") + "\nexport const options = { a: 1 }"
        channel = self.run_function({"index.mjs": module, "node_modules/fastify/index.js": FASTIFY})
        self.assertEqual(channel.call().json(), [{"a": 1}, {"a": 1}])

    def test_a_plugin_that_fails_fails_the_load(self):
        code = "module.exports = async (fastify) => { throw new Error('no database') }"
        with self.assertRaises(Failed) as caught:
            self.run_function({"index.js": code, "node_modules/fastify/index.js": FASTIFY})
        self.assertEqual(caught.exception.message, "Error: no database")

    def test_a_plugin_without_fastify_says_what_to_add(self):
        with self.assertRaises(Failed) as caught:
            self.run_function(self.PLUGIN)
        self.assertEqual(
            caught.exception.message,
            "index.js exports a plugin of Fastify, but the package does not have Fastify: add `fastify` to the "
            "dependencies in package.json",
        )
