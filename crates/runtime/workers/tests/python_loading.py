"""Which function an entrypoint names, its environment, and its calls to others."""

import json

from case import ADDRESSES, JSON, Case
from drive import Failed, Threw


class Entrypoints(Case):
    def test_an_empty_entrypoint_is_main_of_main(self):
        channel = self.run_function("def main():\n    return 'hi'")
        self.assertEqual(channel.call().text, "hi")

    def test_one_word_is_a_function_of_main(self):
        channel = self.run_function("def other():\n    return 'other'", entrypoint="other")
        self.assertEqual(channel.call().text, "other")

    def test_the_last_dot_separates_module_and_function(self):
        files = {"lib/__init__.py": "", "lib/deep.py": "def go():\n    return __name__"}
        self.assertEqual(self.run_function(files, entrypoint="lib.deep.go").call().text, "lib.deep")

    def test_a_module_can_be_a_package(self):
        files = {"hello/__init__.py": "from .inner import main", "hello/inner.py": "def main():\n    return 'inner'"}
        self.assertEqual(self.run_function(files, entrypoint="hello.main").call().text, "inner")

    def test_a_single_file_is_loaded_whatever_its_name(self):
        for name in ("my-func.py", "user", "hello.txt"):
            files = {name: "def main():\n    return 'single'"}
            self.assertEqual(self.run_function(files).call().text, "single")
            self.assertEqual(self.run_function(files, entrypoint="hello.main").call().text, "single")

    def test_the_packages_module_shadows_the_interpreters(self):
        files = {"calendar.py": "import queue\ndef main():\n    return queue.MARK", "queue.py": "MARK = 'mine'"}
        self.assertEqual(self.run_function(files, entrypoint="calendar.main").call().text, "mine")

    def test_a_missing_module_is_named_with_those_that_exist(self):
        with self.assertRaises(Failed) as caught:
            self.run_function({"a.py": "", "b.py": "", "lib/c.py": ""}, entrypoint="hello.main")
        self.assertIn("module hello", caught.exception.message)
        self.assertIn("hello.py", caught.exception.message)
        self.assertIn("a.py, b.py, lib/", caught.exception.message)
        self.assertEqual(self.last.wait(), 1)

    def test_a_missing_function_is_named_with_those_that_exist(self):
        with self.assertRaises(Failed) as caught:
            self.run_function("def hello():\n    pass", entrypoint="main.helo")
        self.assertIn("main.py has no function 'helo'", caught.exception.message)
        self.assertIn("It has: hello", caught.exception.message)

    def test_an_unknown_word_never_selects_another_function(self):
        for files in ("hello.py", "main.py", "user"):
            with self.assertRaises(Failed) as failed:
                self.run_function({files: "def main():\n    return 'another'\n"}, entrypoint="nosuch")
            self.assertIn("has no function 'nosuch', which the entrypoint 'nosuch' names", failed.exception.message)
        for entrypoint in ("hello", "main", "hello.main", "pkg/hello.main"):
            files = {"pkg/__init__.py": "", "pkg/hello.py": "def main():\n    return 'found'\n"}
            files["hello.py"] = files["pkg/hello.py"]
            if entrypoint == "main":
                files.pop("pkg/hello.py")
            self.assertEqual(self.run_function(files, entrypoint=entrypoint).call().text, "found", entrypoint)
        for entrypoint in ("nosuch", "nosuch.main", "hello.nosuch"):
            with self.assertRaises(Failed):
                files = {"hello.py": "def main():\n    return 'another'\n", "other.py": ""}
                self.run_function(files, entrypoint=entrypoint)

    def test_a_missing_import_says_which_and_where(self):
        with self.assertRaises(Failed) as caught:
            self.run_function(
                {"main.py": "import lib.a", "lib/__init__.py": "", "lib/a.py": "\n\nimport nowhere_to_be_found"}
            )
        self.assertIn("nowhere_to_be_found", caught.exception.message)
        self.assertIn("lib/a.py, line 3", caught.exception.message)
        self.assertIn("import nowhere_to_be_found", caught.exception.trace)
        self.assertNotIn("_milepost", caught.exception.trace)
        self.last.wait()
        self.assertIn(b"nowhere_to_be_found", self.last.output["stderr"])

    def test_a_syntax_error_says_where(self):
        with self.assertRaises(Failed) as caught:
            self.run_function("def main(:\n    pass")
        self.assertIn("SyntaxError", caught.exception.message)
        self.assertIn("main.py, line 1", caught.exception.message)

    def test_an_error_while_loading_fails_the_load(self):
        with self.assertRaises(Failed) as caught:
            self.run_function("raise ValueError('no database')")
        self.assertEqual(caught.exception.message, "ValueError: no database")
        self.assertIn("main.py", caught.exception.trace)


class Surroundings(Case):
    SHOW = """
        import json, os, sys
        import milepost
        def main():
            return {
                "cwd": os.getcwd(), "path": sys.path[0], "env": {k: os.environ.get(k) for k in (
                    "COLOR", "DATABASE_URL", "MILEPOST_APP", "MILEPOST_FUNCTION", "MILEPOST_VERSION", "MILEPOST_CONFIG")},
                "config": milepost.config, "secret": milepost.secret("DATABASE_URL"),
            }
    """

    def test_variables_secrets_and_config_are_there(self):
        found = self.run_function(
            self.SHOW, variables={"COLOR": "grün"}, secrets={"DATABASE_URL": "pg://x"}, config={"greeting": "hëllo"}
        )
        found = found.call().json()
        self.assertEqual(found["env"]["COLOR"], "grün")
        self.assertEqual(found["env"]["DATABASE_URL"], "pg://x")
        self.assertEqual(found["secret"], "pg://x")
        self.assertEqual(found["config"], {"greeting": "hëllo"})
        self.assertEqual(json.loads(found["env"]["MILEPOST_CONFIG"]), {"greeting": "hëllo"})
        self.assertEqual([found["env"]["MILEPOST_" + n] for n in ("APP", "FUNCTION", "VERSION")], ["shop", "fn", "7"])
        self.assertEqual(found["cwd"], self.last.folder)
        self.assertEqual(found["path"], self.last.folder)

    def test_a_large_config_is_not_in_the_environment(self):
        found = self.run_function(self.SHOW, secrets={"DATABASE_URL": "x"}, config={"text": "x" * 40000}).call().json()
        self.assertIsNone(found["env"]["MILEPOST_CONFIG"])
        self.assertEqual(len(found["config"]["text"]), 40000)

    def test_an_undeclared_secret_is_named(self):
        channel = self.run_function(
            "import milepost\ndef main():\n    return milepost.secret('NOPE')", secrets={"A": "1"}
        )
        with self.assertRaises(Threw) as caught:
            channel.call()
        self.assertIn("'NOPE'", caught.exception.message)
        self.assertIn("it declares: A", caught.exception.message)

    def test_output_is_flushed_before_a_response_ends(self):
        channel = self.run_function("import sys\ndef main():\n    sys.stdout.write('no newline')\n    return 'x'")
        channel.call()
        self.until(lambda: self.last.output["stdout"] == b"no newline", "the output")

    def test_the_end_of_the_first_connection_ends_the_worker(self):
        channel = self.run_function("import atexit\natexit.register(print, 'bye')\ndef main():\n    return 'x'")
        channel.close()
        self.assertEqual(self.last.wait(), 0)
        self.assertEqual(self.last.output["stdout"], b"bye\n")

    def test_a_worker_that_is_never_used_ends_with_its_connection(self):
        worker = self.worker("def main():\n    return 'x'")
        worker.open().close()
        self.assertEqual(worker.wait(), 0)

    def test_exit_ends_the_process(self):
        for code in ("import sys\ndef main():\n    sys.exit(3)", "import os\ndef main():\n    os._exit(3)"):
            channel = self.run_function(code)
            channel.request()
            with self.assertRaises((EOFError, ConnectionError)):
                channel.read()
            self.assertEqual(self.last.wait(), 3)

    def test_exit_on_another_slot_ends_the_process(self):
        self.run_function("import sys\ndef main():\n    sys.exit(4)", threads=2)
        second = self.last.open()
        second.request()
        self.assertEqual(self.last.wait(), 4)


class Exhaustion(Case):
    """The server counts these errors as use of too many resources."""

    def test_a_refused_process_or_thread_is_exhaustion(self):
        for start, message in (
            ("os.fork()", "BlockingIOError: [Errno 11] Resource temporarily unavailable"),
            ("subprocess.run(['true'])", "BlockingIOError: [Errno 11] Resource temporarily unavailable"),
            ("threading.Thread(target=print).start()", "RuntimeError: can't start new thread"),
        ):
            with self.subTest(start):
                code = "import os, subprocess, threading\ndef main():\n    os.getuid() or os.setuid(65534)\n    %s\n"
                channel = self.run_function(code % start)
                self.refuse_processes()
                with self.assertRaises(Threw) as caught:
                    channel.call()
                self.assertEqual((caught.exception.message, caught.exception.exhausted), (message, True))

    def test_other_errors_are_not(self):
        for code, exhausted in (
            ("raise MemoryError()", True), ("raise ValueError('x')", False), ("open('/no/such/file')", False),
            ("raise RuntimeError('x')", False),
        ):  # fmt: skip
            with self.assertRaises(Threw) as caught:
                self.run_function("def main():\n    %s\n" % code).call()
            self.assertEqual(caught.exception.exhausted, exhausted, code)


class Calls(Case):
    CALL = """
        import milepost
        def main(request):
            answer = milepost.call("orders", "/7?a=1", json={"paid": True}, headers={"x-a": "1"})
            return {"status": answer.status, "json": answer.json(), "header": answer.headers["x-seen"]}
    """

    def test_a_function_calls_another_with_its_token(self):
        for unix in (False, True):
            address, seen = self.gateway(unix)
            channel = self.run_function(self.CALL, environment={"MILEPOST_GATEWAY": address})
            for token in ("t1", "t2"):
                answer = channel.call(headers=[(":call", token)]).json()
                self.assertEqual(answer, {"status": 202, "json": {"got": {"paid": True}}, "header": "1"})
            target = "/.milepost/call/orders/7?a=1"
            self.assertEqual(
                [one[:4] for one in seen], [(target, t, "application/json", b'{"paid": true}') for t in ("t1", "t2")]
            )
            self.assertEqual(len({one[4] for one in seen}), 1, "the connection is kept")

    def test_an_async_function_calls_another(self):
        address, seen = self.gateway()
        code = self.CALL.replace("def main", "async def main").replace("milepost.call(", "await milepost.call_async(")
        channel = self.run_function(code, environment={"MILEPOST_GATEWAY": address})
        self.assertEqual(channel.call(headers=[(":call", "t")]).json()["status"], 202)
        self.assertEqual(seen[0][1], "t")

    def test_a_path_is_sent_as_a_browser_would_send_it(self):
        code = """
            import milepost
            def main(request):
                asked = request.get_json()
                return milepost.call("inner", asked["path"], headers={"x-a": "☃"}, params=asked["params"]).text
        """
        address, seen = self.gateway()
        channel = self.run_function(code, environment={"MILEPOST_GATEWAY": address})
        for path, sent in ADDRESSES:
            asked = {"path": path, "params": None}
            self.assertEqual(channel.call("POST", "/", [JSON], json.dumps(asked).encode()).text, "ok")
            self.assertEqual(seen[-1][0], sent)
            self.assertEqual(seen[-1][2].encode("latin-1").decode(), "☃")
        asked = {"path": "/ä?x=1", "params": {"ö": ["1 2", "&"]}}
        channel.call("POST", "/", [JSON], json.dumps(asked).encode())
        self.assertEqual(seen[-1][0], "/.milepost/call/inner/%C3%A4?x=1&%C3%B6=1+2&%C3%B6=%26")

    def test_a_failed_call_does_not_affect_the_next(self):
        code = """
            import milepost
            def broken():
                yield b"some"
                raise ValueError("no more")
            def main(request):
                bad = {"method": {"method": "G\\u00c4T"}, "header": {"headers": {"x-\\u2603": "1"}}, "body": {"method": "GET", "data": broken()}}
                return milepost.call("inner", "/", **bad.get(request.path[1:], {})).text
        """
        address, seen = self.gateway()
        channel = self.run_function(code, environment={"MILEPOST_GATEWAY": address})
        for fault in ("method", "header", "body"):
            with self.assertRaises(Threw) as caught:
                channel.call("GET", "/" + fault)
            self.assertNotIn("Request-", caught.exception.message)
            self.assertEqual(channel.call("GET", "/").text, "ok", fault)

    def test_reports_a_missing_gateway(self):
        with self.assertRaises(Threw) as caught:
            self.run_function(self.CALL).call()
        self.assertIn("MILEPOST_GATEWAY", caught.exception.message)
