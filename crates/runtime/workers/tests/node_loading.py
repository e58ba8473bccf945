"""Which function an entrypoint names, its environment, and its calls to others."""

import json
import subprocess

from case import ADDRESSES, JSON, NodeCase
from drive import Failed, Threw, node


class Entrypoints(NodeCase):
    def tells_modules_by_their_syntax(self):
        version = subprocess.run([node(), "--version"], stdout=subprocess.PIPE, check=True).stdout.decode()
        return tuple(int(part) for part in version.strip()[1:].split(".")[:2]) >= (20, 19)

    def test_an_empty_entrypoint_finds_the_usual_files(self):
        say = "module.exports = async () => 'found'"
        cases = [
            {"index.js": say, "other.js": "throw 1"}, {"main.js": say, "other.js": "throw 1"}, {"whatever.js": say}, {"user": say},
            {"package.json": '{"main": "lib/start"}', "lib/start.js": say, "index.js": "throw 1"}, {"index.cjs": say},
            {"index.mjs": "export default async () => 'found'"}, {"package.json": '{"type": "module"}', "index.js": "export default () => 'found'"},
            {"index.mjs": "export const handler = async (context) => 'found'"}, {"index.js": "exports.whatever = () => 'found'"},
        ]  # fmt: skip
        if self.tells_modules_by_their_syntax():
            cases.append({"index.js": "export default () => 'found'"})
        for files in cases:
            with self.subTest(files):
                self.assertEqual(self.run_function(files).call().text, "found")

    def test_an_entrypoint_names_a_file_and_a_function(self):
        files = {
            "hello.js": "module.exports = () => 'default'; module.exports.main = () => 'main'",
            "src/api/users.mjs": "export const list = () => 'list'; export default { get: () => 'get' }",
            "index.js": "exports.word = () => 'word'",
            "folder/index.js": "exports.go = () => 'go'",
        }
        cases = [
            ("hello", "default"), ("hello.js", "default"), ("hello.main", "main"), ("src/api/users.list", "list"), ("src/api/users.get", "get"),
            ("word", "word"), ("folder.go", "go"), ("src/api/users:list", "list"),
        ]  # fmt: skip
        for entrypoint, expected in cases:
            with self.subTest(entrypoint):
                self.assertEqual(self.run_function(files, entrypoint=entrypoint).call().text, expected)

    def test_a_missing_file_is_named_with_those_that_exist(self):
        with self.assertRaises(Failed) as caught:
            self.run_function({"a.js": "", "b.js": "", "lib/c.js": ""}, entrypoint="hello.main")
        self.assertIn("hello.js", caught.exception.message)
        self.assertIn("a.js, b.js, lib/", caught.exception.message)
        self.assertEqual(self.last.wait(), 1)

    def test_a_missing_function_is_named_with_those_that_exist(self):
        with self.assertRaises(Failed) as caught:
            self.run_function("exports.hello = () => 1", entrypoint="index.helo")
        self.assertIn('index.js does not export "helo"', caught.exception.message)
        self.assertIn("It exports: hello", caught.exception.message)

    def test_an_unknown_word_never_selects_another_function(self):
        for file in ("hello.js", "index.js", "user"):
            for entrypoint in ("nosuch", "constructor", "toString", "call", "hello.nosuch"):
                for code in (
                    "module.exports = async () => 'another'",
                    "exports.main = async () => 'another'",
                ):
                    with self.assertRaises(Failed, msg=(file, entrypoint)):
                        self.run_function({file: code}, entrypoint=entrypoint)

    def test_a_missing_package_says_which_and_where(self):
        with self.assertRaises(Failed) as caught:
            self.run_function({"index.js": "require('./lib/a')", "lib/a.js": "require('nowhere-to-be-found')"})
        self.assertIn("nowhere-to-be-found", caught.exception.message)
        self.assertIn("lib/a.js", caught.exception.message)
        self.last.wait()
        self.assertIn(b"nowhere-to-be-found", self.last.output["stderr"])
        with self.assertRaises(Failed) as caught:
            self.run_function({"index.mjs": "import './lib/a.mjs'", "lib/a.mjs": "import 'nowhere-to-be-found'"})
        self.assertIn("nowhere-to-be-found", caught.exception.message)
        self.assertIn("lib/a.mjs", caught.exception.message)

    def test_a_syntax_error_says_where(self):
        # Node does not report the line for an ES module.
        for name, where in (("index.js", "index.js, line 2"), ("index.mjs", "in index.mjs")):
            with self.assertRaises(Failed) as caught:
                self.run_function({name: "\nfunction (\n"})
            self.assertIn("SyntaxError", caught.exception.message)
            self.assertIn(where, caught.exception.message)

    def test_an_error_while_loading_fails_the_load(self):
        with self.assertRaises(Failed) as caught:
            self.run_function("throw new Error('no database')")
        self.assertEqual(caught.exception.message, "Error: no database")
        self.assertIn("index.js", caught.exception.trace)
        self.assertNotIn("milepost_worker", caught.exception.trace)


class Surroundings(NodeCase):
    def check(self, files):
        channel = self.run_function(
            files, variables={"COLOR": "grün"}, secrets={"DATABASE_URL": "pg://x"}, config={"greeting": "hëllo"}
        )
        found = channel.call(headers=[(":id", "r1")]).json()
        self.assertEqual(found["env"], ["grün", "pg://x", "shop", "fn", "7", {"greeting": "hëllo"}])
        self.assertEqual((found["config"], found["secret"], found["id"]), ({"greeting": "hëllo"}, "pg://x", "r1"))
        self.assertEqual(found["cwd"], self.last.folder)

    SHOW = """
        const show = async (context) => ({ body: { cwd: process.cwd(), config: milepost.config, secret: milepost.secret('DATABASE_URL'), id: milepost.requestId(),
          env: [...['COLOR', 'DATABASE_URL', 'MILEPOST_APP', 'MILEPOST_FUNCTION', 'MILEPOST_VERSION'].map((n) => process.env[n]), JSON.parse(process.env.MILEPOST_CONFIG)] } })
    """

    def test_variables_secrets_and_config_are_there(self):
        self.check("const milepost = require('milepost')\n" + self.SHOW + "\nmodule.exports = show")
        self.check({"index.mjs": "import milepost from 'milepost'\n" + self.SHOW + "\nexport default show"})
        self.check({"index.mjs": "import * as milepost from 'milepost'\n" + self.SHOW + "\nexport default show"})

    def test_the_end_of_the_first_connection_ends_the_worker(self):
        channel = self.run_function(
            "process.on('exit', () => console.log('bye')); setInterval(() => {}, 1000); module.exports = () => 'x'"
        )
        channel.close()
        self.assertEqual(self.last.wait(), 0)
        self.assertEqual(self.last.output["stdout"], b"bye\n")

    def test_a_worker_that_is_never_used_ends_with_its_connection(self):
        worker = self.worker("")
        worker.open().close()
        self.assertEqual(worker.wait(), 0)

    def test_exit_ends_the_process(self):
        channel = self.run_function("module.exports = () => process.exit(3)")
        channel.request()
        self.assertEqual(self.last.wait(), 3)


class Exhaustion(NodeCase):
    def test_a_refused_process_is_exhaustion(self):
        code = """
            const { execFileSync } = require('node:child_process')
            module.exports = async (context) => {
              if (process.getuid() === 0) process.setuid(65534)
              return execFileSync(context.request.query.program)
            }
        """
        for program, message, exhausted in (
            ("/no/such/program", "Error: spawnSync /no/such/program ENOENT", False),
            ("/bin/true", "Error: spawnSync /bin/true EAGAIN", True),
        ):
            channel = self.run_function(code)
            if exhausted:
                self.refuse_processes()
            with self.assertRaises(Threw) as caught:
                channel.call(target="/?program=" + program)
            self.assertEqual((caught.exception.message, caught.exception.exhausted), (message, exhausted))


class Calls(NodeCase):
    def test_a_function_calls_another_with_its_token(self):
        code = """
            const milepost = require('milepost')
            module.exports = async () => {
              const answer = await milepost.call('orders', '/7?a=1', { json: { paid: true }, headers: { 'X-A': '1' } })
              return { body: { status: answer.status, json: await answer.json(), header: answer.headers.get('x-seen') } }
            }
        """
        for threads, unix in ((1, False), (2, True)):
            address, seen = self.gateway(unix)
            channel = self.run_function(code, environment={"MILEPOST_GATEWAY": address}, threads=threads)
            for _ in range(2):
                answer = channel.call(headers=[(":call", "t1")]).json()
                self.assertEqual(answer, {"status": 202, "json": {"got": {"paid": True}}, "header": "1"})
            self.assertEqual(len({one[4] for one in seen}), 1, "the connection is kept")
            self.assertEqual(seen[0][:4], ("/.milepost/call/orders/7?a=1", "t1", "application/json", b'{"paid":true}'))

    def test_a_path_is_sent_as_a_browser_would_send_it(self):
        code = """
            const milepost = require('milepost')
            module.exports = async ({ request }) =>
              (await milepost.call('inner', request.body.path, { headers: { 'x-a': '☃' }, params: request.body.params })).text()
        """
        address, seen = self.gateway()
        channel = self.run_function(code, environment={"MILEPOST_GATEWAY": address})
        for path, sent in ADDRESSES:
            self.assertEqual(channel.call("POST", "/", [JSON], json.dumps({"path": path}).encode()).text, "ok")
            self.assertEqual(seen[-1][0], sent)
            self.assertEqual(seen[-1][2].encode("latin-1").decode(), "☃")
        asked = {"path": "/ä?x=1", "params": {"ö": "1 2"}}
        channel.call("POST", "/", [JSON], json.dumps(asked).encode())
        self.assertEqual(seen[-1][0], "/.milepost/call/inner/%C3%A4?x=1&%C3%B6=1+2")

    def test_a_failed_call_does_not_affect_the_next(self):
        code = """
            const milepost = require('milepost')
            const bad = { method: { method: 'GÄT' }, header: { headers: { 'x-☃': '1' } }, body: { body: Symbol('x') } }
            module.exports = async ({ request }) => (await milepost.call('inner', '/', bad[request.path.slice(1)])).text()
        """
        address, seen = self.gateway()
        channel = self.run_function(code, environment={"MILEPOST_GATEWAY": address})
        for fault in ("method", "header", "body"):
            with self.assertRaises(Threw):
                channel.call("GET", "/" + fault)
            self.assertEqual(channel.call("GET", "/").text, "ok", fault)


class Output(NodeCase):
    def test_output_is_written_synchronously(self):
        code = """
            const { stdout, stderr } = process
            module.exports = () => {
              for (let line = 0; line < 100; line++) {
                console.log('x'.repeat(9999))
                console.error('y'.repeat(99999))
              }
              return { waiting: stdout.writableLength + stderr.writableLength }
            }
        """
        channel = self.run_function(code)
        for _ in range(2):
            self.assertEqual(channel.call().json(), {"waiting": 0})
        channel.close()
        self.assertEqual(self.last.wait(), 0)
        self.assertEqual({name: len(text) for name, text in self.last.output.items()}, {"stdout": 2 * 1000000, "stderr": 2 * 10000000})
