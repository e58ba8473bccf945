"""The Python worker as the server sees it: real processes, the real socket. Run: python3 test_python.py"""

import json
import os
import subprocess
import sys
import threading
import unittest
from http.server import BaseHTTPRequestHandler, HTTPServer

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from drive import BODY, CANCEL, END, ERROR, RESPONSE, Answer, Case, Failed, Threw, interpreter  # noqa: E402

JSON = ("content-type", "application/json")
BIG = 10 * 1024 * 1024


def has_flask():
    return subprocess.call([interpreter(), "-I", "-c", "import flask"], stderr=subprocess.DEVNULL) == 0


class Entrypoints(Case):
    def test_an_empty_entrypoint_is_main_of_main(self):
        channel = self.run_function("def main():\n    return 'hi'")
        self.assertEqual(channel.call().text, "hi")

    def test_one_word_is_a_function_of_main(self):
        channel = self.run_function("def other():\n    return 'other'", entrypoint="other")
        self.assertEqual(channel.call().text, "other")

    def test_the_last_dot_divides_module_and_function(self):
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

    def test_a_module_named_like_one_of_the_interpreters_is_the_packages_own(self):
        files = {"calendar.py": "import queue\ndef main():\n    return queue.MARK", "queue.py": "MARK = 'mine'"}
        self.assertEqual(self.run_function(files, entrypoint="calendar.main").call().text, "mine")

    def test_a_missing_module_is_named_with_what_there_is(self):
        with self.assertRaises(Failed) as caught:
            self.run_function({"a.py": "", "b.py": "", "lib/c.py": ""}, entrypoint="hello.main")
        self.assertIn("module hello", caught.exception.message)
        self.assertIn("hello.py", caught.exception.message)
        self.assertIn("a.py, b.py, lib/", caught.exception.message)
        self.assertEqual(self.last.wait(), 1)

    def test_a_missing_function_is_named_with_what_there_is(self):
        with self.assertRaises(Failed) as caught:
            self.run_function("def hello():\n    pass", entrypoint="main.helo")
        self.assertIn("main.py has no function 'helo'", caught.exception.message)
        self.assertIn("It has: hello", caught.exception.message)

    def test_a_missing_import_says_which_and_where(self):
        with self.assertRaises(Failed) as caught:
            self.run_function({"main.py": "import lib.a", "lib/__init__.py": "", "lib/a.py": "\n\nimport nowhere_to_be_found"})
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

    def test_what_throws_while_it_is_loaded_fails_to_load(self):
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
        channel = self.run_function("import milepost\ndef main():\n    return milepost.secret('NOPE')", secrets={"A": "1"})
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


class StandIn(Case):
    """Without Flask: the stand-in for its request and responses."""

    flags = ("-S",)

    ECHO = """
        from flask import request, jsonify, g, current_app
        def main():
            g.x = 1
            current_app.logger.warning("seen %s", request.path)
            return jsonify(method=request.method, path=request.path, full_path=request.full_path, args=request.args.to_dict(flat=False),
                name=request.args.get("n", type=int), headers=dict(request.headers), agent=request.headers.get("USER-AGENT"),
                many=request.headers.getlist("x-many"), cookies=request.cookies.to_dict(), data=request.get_data(as_text=True),
                url=request.url, base=request.base_url, host=request.host, addr=request.remote_addr, view_args=request.view_args,
                values=request.values.to_dict(), type=request.content_type, length=request.content_length, g=g.x,
                form=request.form.to_dict(), route=request.url_rule)
    """

    def test_the_request_has_what_flask_has(self):
        headers = [
            ("host", "shop.localhost:8080"), ("user-agent", "t/1"), ("x-many", "1"), ("x-many", "2"), ("cookie", 'a=1; b="x y"; ü=ö'),
            (":client", "10.0.0.9"), (":route", "/u/{id}"), (":param.id", "7"), ("x-forwarded-proto", "https"), ("content-length", "0"),
        ]  # fmt: skip
        found = self.run_function(self.ECHO).call("GET", "/u/%C3%BC%20x?n=3&n=4&q=%E2%82%AC", headers).json()
        self.assertEqual(found["method"], "GET")
        self.assertEqual(found["path"], "/u/ü x")
        self.assertEqual(found["args"], {"n": ["3", "4"], "q": ["€"]})
        self.assertEqual(found["name"], 3)
        self.assertEqual(found["headers"]["User-Agent"], "t/1")
        self.assertEqual(found["agent"], "t/1")
        self.assertEqual(found["many"], ["1", "2"])
        self.assertEqual(found["cookies"], {"a": "1", "b": "x y", "ü": "ö"})
        self.assertEqual(found["url"], "https://shop.localhost:8080/u/%C3%BC%20x?n=3&n=4&q=%E2%82%AC")
        self.assertEqual(found["host"], "shop.localhost:8080")
        self.assertEqual(found["addr"], "10.0.0.9")
        self.assertEqual(found["view_args"], {"id": "7"})
        self.assertEqual(found["g"], 1)
        self.assertNotIn(":client", json.dumps(found["headers"]))
        self.until(lambda: "seen /u/ü x".encode() in self.last.output["stderr"], "the log line")

    def test_forms_are_parsed(self):
        channel = self.run_function(self.ECHO)
        form = channel.call("POST", "/?q=1", [("content-type", "application/x-www-form-urlencoded")], b"a=1&b=%C3%A4+x").json()
        self.assertEqual(form["form"], {"a": "1", "b": "ä x"})
        self.assertEqual(form["values"], {"q": "1", "a": "1", "b": "ä x"})

    def test_files_are_parsed_byte_for_byte(self):
        channel = self.run_function("""
            from flask import request
            def main():
                f = request.files["up"]
                return {"name": f.filename, "type": f.mimetype, "hex": f.read().hex(), "field": request.form["field"]}
        """)
        content = bytes(range(256)) + b"\r\n--not the boundary\r\n\n"
        body = b'--b0\r\nContent-Disposition: form-data; name="field"\r\n\r\nv\xc3\xa4l\r\n' \
            b'--b0\r\nContent-Disposition: form-data; name="up"; filename="a \\"b\\".bin"\r\n' \
            b"Content-Type: application/x-thing\r\n\r\n" + content + b"\r\n--b0--\r\n"  # fmt: skip
        found = channel.call("POST", "/", [("content-type", "multipart/form-data; boundary=b0")], body).json()
        self.assertEqual(found, {"name": 'a "b".bin', "type": "application/x-thing", "hex": content.hex(), "field": "väl"})

    def test_json_bodies(self):
        channel = self.run_function("from flask import request\ndef main():\n    return {'got': request.json['a']}")
        self.assertEqual(channel.call("POST", "/", [JSON], '{"a": "ü€"}'.encode()).json(), {"got": "ü€"})
        self.assertEqual(channel.call("POST", "/", [JSON], b"{").status, 400)
        self.assertEqual(channel.call("POST", "/", [], b"{}").status, 415)

    def test_results_are_what_flask_accepts(self):
        channel = self.run_function("""
            from flask import request, Response, make_response, redirect, abort, jsonify
            def gone():
                abort(410, "it is <gone>")
            def made():
                r = make_response("made", 201)
                r.headers["X-A"] = "1"
                r.set_cookie("a", "1", httponly=True, samesite="lax")
                r.set_cookie("b", "ü; x", max_age=60)
                return r
            RESULTS = {
                "text": lambda: "t€xt", "bytes": lambda: b"\\x00\\xff", "dict": lambda: {"a": "ü"}, "list": lambda: [1, 2],
                "none": lambda: None, "status": lambda: ("made", 201), "all": lambda: ("x", 418, {"X-Tea": "pot", "Set-Cookie": ["a=1", "b=2"]}),
                "headers": lambda: ({"a": 1}, {"x-h": "1"}), "response": lambda: Response("r", 202, mimetype="text/plain"),
                "made": made, "redirect": lambda: redirect("/ü?x=1"), "abort": gone, "pairs": lambda: ("x", [("a", "1"), ("A", "2")]),
                "statustext": lambda: ("x", "404 NOT FOUND"), "override": lambda: (jsonify(a=1), 422), "iter": lambda: iter(["a", b"b", "", "c"]),
            }
            def main():
                return RESULTS[request.path[1:]]()
        """)

        def get(name, method="GET"):
            return channel.call(method, "/" + name)

        text = get("text")
        self.assertEqual((text.status, text.text, text.header("content-type")), (200, "t€xt", "text/html; charset=utf-8"))
        self.assertEqual(get("bytes").body, b"\x00\xff")
        self.assertEqual(get("dict").json(), {"a": "ü"})
        self.assertEqual(get("dict").header("content-type"), "application/json")
        self.assertEqual(get("list").json(), [1, 2])
        self.assertEqual((get("none").status, get("none").body, get("none").headers), (204, b"", []))
        self.assertEqual((get("status").status, get("status").text), (201, "made"))
        tea = get("all")
        self.assertEqual((tea.status, tea.header("x-tea"), tea.all("set-cookie")), (418, "pot", ["a=1", "b=2"]))
        self.assertEqual((get("headers").json(), get("headers").header("x-h")), ({"a": 1}, "1"))
        self.assertEqual((get("response").status, get("response").header("content-type")), (202, "text/plain; charset=utf-8"))
        made = get("made")
        self.assertEqual((made.status, made.header("x-a")), (201, "1"))
        self.assertEqual(made.all("set-cookie")[0], "a=1; HttpOnly; Path=/; SameSite=Lax")
        self.assertEqual(made.all("set-cookie")[1], 'b="\\303\\274\\073 x"; Max-Age=60; Path=/')
        self.assertEqual((get("redirect").status, get("redirect").header("location")), (302, "/%C3%BC?x=1"))
        self.assertEqual(get("abort").status, 410)
        self.assertIn("it is &lt;gone&gt;", get("abort").text)
        self.assertEqual(get("pairs").all("a"), ["1", "2"])
        self.assertEqual(get("statustext").status, 404)
        self.assertEqual((get("override").status, get("override").json()), (422, {"a": 1}))
        self.assertEqual(get("iter").text, "abc")
        head = get("text", "HEAD")
        self.assertEqual((head.status, head.body, head.header("content-length")), (200, b"", "6"))

    def test_headers_survive_byte_for_byte(self):
        channel = self.run_function("""
            from flask import request
            def main():
                return "x", 200, {"x-back": request.headers["x-latin"], "x-wide": "€"}
        """)
        answer = channel.call(headers=[("x-latin", b"caf\xe9 \xff")])
        self.assertIn((b"x-back", b"caf\xe9 \xff"), answer.headers)
        self.assertIn((b"x-wide", "€".encode()), answer.headers)

    def test_a_header_that_would_be_two_is_refused(self):
        for value in ("a\\0b\\0c", "a\\r\\nb: c"):
            channel = self.run_function('def main():\n    return "x", 200, {"x-a": "%s"}' % value)
            with self.assertRaises(Threw) as caught:
                channel.call()
            self.assertIn("x-a", caught.exception.message)
        with self.assertRaises(Threw):
            self.run_function('def main():\n    return "x", 200, {":id": "1"}').call()

    def test_what_the_stand_in_lacks_is_named(self):
        with self.assertRaises(Failed) as caught:
            self.run_function("from flask import Flask\napp = Flask(__name__)")
        self.assertIn("put Flask into the package", caught.exception.message)

    def test_main_of_request_gets_the_request(self):
        for name in ("request", "req", "_"):
            channel = self.run_function("def main(%s):\n    return %s.method + %s.get_data(as_text=True)" % (name, name, name))
            self.assertEqual(self.last.convention, "request")
            self.assertEqual(channel.call("PUT", "/", [], b"abc").text, "PUTabc")


@unittest.skipUnless(has_flask(), "Flask is not installed")
class RealFlask(Case):
    def test_a_real_flask_serves_main(self):
        channel = self.run_function("""
            import flask
            from flask import request, jsonify, after_this_request
            def main():
                @after_this_request
                def add(response):
                    response.set_cookie("a", "1")
                    return response
                if request.args.get("abort"):
                    flask.abort(404)
                if request.args.get("none"):
                    return None
                if request.args.get("throw"):
                    raise ValueError("thrown")
                if request.args.get("stream"):
                    return flask.Response(flask.stream_with_context(request.path + str(i) for i in range(3)))
                return jsonify(path=request.path, args=request.args, json=request.get_json(silent=True), params=request.view_args, url=request.url,
                    real=hasattr(flask, "Flask")), 201
        """)
        answer = channel.call("POST", "/p%C3%BC?x=1", [JSON, (":param.id", "7"), ("host", "h:1")], b'{"a": 1}')
        self.assertEqual(answer.status, 201)
        self.assertEqual(
            answer.json(), {"path": "/pü", "args": {"x": "1"}, "json": {"a": 1}, "params": {"id": "7"}, "url": "http://h:1/pü?x=1", "real": True},
        )  # fmt: skip
        self.assertEqual(answer.all("set-cookie"), ["a=1; Path=/"])
        self.assertEqual(channel.call("GET", "/?abort=1").status, 404)
        self.assertEqual(channel.call("GET", "/?none=1").status, 204)
        self.assertEqual(channel.call("GET", "/s?stream=1").text, "/s0/s1/s2")
        with self.assertRaises(Threw) as caught:
            channel.call("GET", "/?throw=1")
        self.assertEqual(caught.exception.message, "ValueError: thrown")
        self.assertEqual(channel.call("HEAD", "/").body, b"")

    def test_flask_that_is_imported_late_is_noticed(self):
        channel = self.run_function("""
            def main():
                from flask import request, jsonify
                return jsonify(path=request.path)
        """)
        for path in ("/one", "/two", "/three"):
            self.assertEqual(channel.call("GET", path).json(), {"path": path})

    def test_main_of_request_gets_flasks_own(self):
        channel = self.run_function("import flask\ndef main(request):\n    return type(request).__module__")
        self.assertTrue(channel.call().text.startswith("flask."))

    def test_an_async_function_has_flasks_request(self):
        channel = self.run_function("""
            import asyncio
            from flask import request
            async def main():
                await asyncio.sleep(0)
                return {"path": request.path}
        """)
        for path in ("/one", "/two"):
            self.assertEqual(channel.call("GET", path).json(), {"path": path})

    def test_a_flask_application_is_wsgi(self):
        channel = self.run_function("""
            from flask import Flask, request
            app = Flask(__name__)
            @app.route("/hi/<name>", methods=["GET", "POST"])
            def hi(name):
                return {"name": name, "data": request.get_data(as_text=True)}
        """, entrypoint="main.app")  # fmt: skip
        self.assertEqual(self.last.convention, "wsgi")
        self.assertEqual(channel.call("POST", "/hi/x%20y", [], b"abc").json(), {"name": "x y", "data": "abc"})
        self.assertEqual(channel.call("GET", "/nope").status, 404)


class Events(Case):
    def test_handler_gets_an_event(self):
        channel = self.run_function("""
            import json
            def handler(event, context):
                return {"statusCode": 201, "headers": {"X-A": "1"}, "cookies": ["a=1", "b=2"], "body": json.dumps({
                    "event": event, "id": context.aws_request_id, "left": context.get_remaining_time_in_millis() > 1000})}
        """, entrypoint="handler")  # fmt: skip
        self.assertEqual(self.last.convention, "event")
        headers = [(":id", "r1"), (":deadline", "5000"), (":param.id", "7"), (":route", "/u/{id}"), ("x-m", "1"), ("x-m", "2"), ("cookie", "c=1")]
        answer = channel.call("POST", "/u/7?a=1&b=2&b=3", headers + [("content-type", "text/plain")], "tëxt".encode())
        self.assertEqual((answer.status, answer.header("x-a"), answer.all("set-cookie")), (201, "1", ["a=1", "b=2"]))
        found = answer.json()
        event = found["event"]
        self.assertEqual((event["httpMethod"], event["path"], event["body"], event["isBase64Encoded"]), ("POST", "/u/7", "tëxt", False))
        self.assertEqual(event["queryStringParameters"], {"a": "1", "b": "2,3"})
        self.assertEqual(event["headers"]["x-m"], "1,2")
        self.assertEqual(event["pathParameters"], {"id": "7"})
        self.assertEqual(event["requestContext"]["http"]["method"], "POST")
        self.assertEqual(event["cookies"], ["c=1"])
        self.assertEqual((found["id"], found["left"]), ("r1", True))

    def test_binary_goes_in_and_out_as_base64(self):
        channel = self.run_function("""
            def lambda_handler(event, context):
                return {"statusCode": 200, "body": event["body"], "isBase64Encoded": event["isBase64Encoded"],
                        "headers": {"content-type": "image/png"}}
        """, entrypoint="main.lambda_handler")  # fmt: skip
        data = bytes(range(256))
        answer = channel.call("POST", "/", [("content-type", "image/png")], data)
        self.assertEqual((answer.body, answer.header("content-type")), (data, "image/png"))

    def test_anything_else_is_json(self):
        channel = self.run_function("def main(event, context):\n    return [event['body'], None]")
        self.assertEqual(channel.call().json(), [None, None])


class Arguments(Case):
    def test_a_json_object_becomes_arguments(self):
        channel = self.run_function("def main(name, times=1, **kwargs):\n    return {'said': name * times, 'more': sorted(kwargs)}")
        self.assertEqual(self.last.convention, "arguments")
        self.assertEqual(channel.call("POST", "/", [JSON], b'{"name": "ab", "times": 2, "x": 1}').json(), {"said": "abab", "more": ["context", "x"]})

    def test_query_form_and_path_become_arguments(self):
        channel = self.run_function("def main(name=None, id=None):\n    return [name, id]")
        self.assertEqual(channel.call("GET", "/?name=q&utm=1").json(), ["q", None])
        form = [("content-type", "application/x-www-form-urlencoded"), (":param.id", "7")]
        self.assertEqual(channel.call("POST", "/", form, b"name=f").json(), ["f", "7"])

    def test_context_is_given_when_it_is_wanted(self):
        channel = self.run_function("def main(context, name='World'):\n    return [context['request_id'], context.function, name]")
        self.assertEqual(channel.call(headers=[(":id", "r9")]).json(), ["r9", "fn", "World"])

    def test_other_text_is_one_positional_argument(self):
        channel = self.run_function("def main(text='none', **kwargs):\n    return text")
        self.assertEqual(channel.call("POST", "/", [], b"plain").json(), "plain")
        self.assertEqual(channel.call("POST", "/", [JSON], b"[1, 2]").json(), "[1, 2]")
        self.assertEqual(channel.call().json(), "none")

    def test_none_is_null(self):
        channel = self.run_function("def main(**kwargs):\n    return None")
        answer = channel.call()
        self.assertEqual((answer.status, answer.body, answer.header("content-type")), (200, b"null", "application/json"))

    def test_arguments_that_do_not_fit_are_explained(self):
        channel = self.run_function("def main(name, other):\n    return name")
        with self.assertRaises(Threw) as caught:
            channel.call("POST", "/", [JSON], b'{"name": 1}')
        self.assertIn("missing 1 required positional argument: 'other'", caught.exception.message)
        self.assertIn("JSON body", caught.exception.message)

    def test_the_convention_can_be_chosen(self):
        channel = self.run_function("def main(request):\n    return request", variables={"MILEPOST_CONVENTION": "arguments"})
        self.assertEqual(channel.call("GET", "/?request=x").json(), "x")


class Wsgi(Case):
    def test_an_application_gets_its_environment(self):
        channel = self.run_function("""
            import json
            def app(environ, start_response):
                body = environ["wsgi.input"].read()
                shown = {k: v for k, v in environ.items() if isinstance(v, str)}
                start_response("201 Made", [("Content-Type", "application/json"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")])
                return [json.dumps({"env": shown, "body": body.decode()}).encode()]
        """, entrypoint="main.app")  # fmt: skip
        self.assertEqual(self.last.convention, "wsgi")
        answer = channel.call("POST", "/a%2Fb%C3%BC?q=%20", [("host", "h:81"), ("x-one", "1"), ("x-one", "2"), ("content-length", "3"), (":client", "1.2.3.4")], b"abc")
        found = answer.json()
        self.assertEqual((answer.status, answer.all("set-cookie")), (201, ["a=1", "b=2"]))
        env = found["env"]
        self.assertEqual(env["PATH_INFO"].encode("latin-1").decode(), "/a/bü")
        self.assertEqual((env["QUERY_STRING"], env["HTTP_X_ONE"], env["CONTENT_LENGTH"]), ("q=%20", "1,2", "3"))
        self.assertEqual((env["SERVER_NAME"], env["SERVER_PORT"], env["REMOTE_ADDR"]), ("h", "81", "1.2.3.4"))
        self.assertEqual(found["body"], "abc")

    def test_write_iterables_and_close(self):
        channel = self.run_function("""
            class Body:
                def __iter__(self):
                    yield b"two "
                    yield b""
                    yield b"three"
                def close(self):
                    print("closed")
            def app(environ, start_response):
                write = start_response("200 OK", [("content-type", "text/plain")])
                write(b"one ")
                return Body()
        """, entrypoint="main.app")  # fmt: skip
        self.assertEqual(channel.call().text, "one two three")
        self.until(lambda: self.last.output["stdout"] == b"closed\n", "the body to be closed")
        self.assertEqual(channel.call("HEAD").body, b"")

    def test_an_object_is_an_application(self):
        channel = self.run_function("""
            class App:
                def __call__(self, env, start):
                    start("200 OK", [])
                    return [b"a", b"b"]
            application = App()
        """, entrypoint="main.application")  # fmt: skip
        self.assertEqual(channel.call().text, "ab")

    def test_a_body_is_read_as_it_comes(self):
        channel = self.run_function("""
            def app(environ, start_response):
                start_response("200 OK", [])
                stream = environ["wsgi.input"]
                while True:
                    line = stream.readline()
                    if not line:
                        return
                    yield b"got " + line
        """, entrypoint="main.app")  # fmt: skip
        channel.request("POST", "/", [], b"one\n", end=False)
        kind, flags, payload = channel.read()
        self.assertEqual((kind, flags, Answer.head(payload).body), (RESPONSE, 0, b"got one\n"))
        channel.body(b"two\n")
        self.assertEqual(channel.read(), (BODY, 0, b"got two\n"))
        channel.body(b"three", end=True)
        self.assertEqual(channel.read(), (BODY, 0, b"got three"))
        self.assertEqual(channel.read(), (BODY, END, b""))


class Asgi(Case):
    ECHO = """
        import json
        async def app(scope, receive, send):
            if scope["type"] == "lifespan":
                while True:
                    message = await receive()
                    if message["type"] == "lifespan.startup":
                        scope["state"]["made"] = "at startup"
                        print("up")
                        await send({"type": "lifespan.startup.complete"})
                    else:
                        print("down")
                        await send({"type": "lifespan.shutdown.complete"})
                        return
            if scope["path"] == "/facts":
                facts = {k: v.decode() if isinstance(v, bytes) else v for k, v in scope.items() if k != "headers"}
                facts["headers"] = [[k.decode("latin-1"), v.decode("latin-1")] for k, v in scope["headers"]]
                await send({"type": "http.response.start", "status": 200, "headers": [(b"set-cookie", b"a=1"), (b"set-cookie", b"b=2")]})
                await send({"type": "http.response.body", "body": json.dumps(facts).encode()})
                return
            await send({"type": "http.response.start", "status": 200, "headers": [(b"x-bytes", b"caf\\xe9")]})
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    print("gone")
                    return
                await send({"type": "http.response.body", "body": message["body"], "more_body": True})
                if not message["more_body"]:
                    break
            await send({"type": "http.response.body", "body": b""})
    """

    def test_scope_and_lifespan(self):
        channel = self.run_function(self.ECHO, entrypoint="main.app")
        self.assertEqual(self.last.convention, "asgi")
        answer = channel.call("GET", "/facts?q=%20", [("host", "h:81"), ("x-l", b"\xe9"), (":client", "1.2.3.4"), ("x-forwarded-proto", "https")])
        found = answer.json()
        self.assertEqual((found["path"], found["query_string"], found["scheme"], found["client"]), ("/facts", "q=%20", "https", ["1.2.3.4", 0]))
        self.assertEqual(found["headers"], [["host", "h:81"], ["x-l", "é"], ["x-forwarded-proto", "https"]])
        self.assertEqual(found["state"], {"made": "at startup"})
        self.assertEqual(answer.all("set-cookie"), ["a=1", "b=2"])
        channel.close()
        self.assertEqual(self.last.wait(), 0)
        self.assertEqual(self.last.output["stdout"], b"up\ndown\n")

    def test_bodies_stream_both_ways(self):
        channel = self.run_function(self.ECHO, entrypoint="main.app")
        channel.request("POST", "/", [], b"one", end=False)
        kind, flags, payload = channel.read()
        answer = Answer.head(payload)
        self.assertEqual((kind, flags, answer.body), (RESPONSE, 0, b"one"))
        self.assertIn((b"x-bytes", b"caf\xe9"), answer.headers)
        channel.body(b"two")
        self.assertEqual(channel.read(), (BODY, 0, b"two"))
        channel.body(b"", end=True)
        self.assertEqual(channel.read(), (BODY, END, b""))
        self.assertEqual(channel.call("POST", "/", [], b"again").body, b"again")

    def test_a_caller_that_leaves_is_a_disconnect(self):
        channel = self.run_function(self.ECHO, entrypoint="main.app")
        channel.request("POST", "/", [], b"one", end=False)
        channel.read()
        channel.frame(CANCEL)
        kind, _, payload = channel.read()
        # The application gave up in the middle: its response cannot be complete.
        self.assertEqual(kind, ERROR)
        self.until(lambda: b"gone" in self.last.output["stdout"], "the disconnect")
        self.assertEqual(channel.call("POST", "/", [], b"next").body, b"next")

    def test_a_startup_that_fails_fails_the_load(self):
        with self.assertRaises(Failed) as caught:
            self.run_function("""
                async def app(scope, receive, send):
                    await receive()
                    await send({"type": "lifespan.startup.failed", "message": "no database"})
            """, entrypoint="main.app")  # fmt: skip
        self.assertIn("no database", caught.exception.message)

    def test_work_after_the_response_goes_on_and_does_not_disturb_the_next(self):
        channel = self.run_function("""
            import asyncio
            async def app(scope, receive, send):
                if scope["type"] != "http":
                    raise NotImplementedError
                await send({"type": "http.response.start", "status": 200, "headers": []})
                await send({"type": "http.response.body", "body": scope["path"].encode()})
                if scope["path"] == "/late":
                    print((await receive())["type"], flush=True)
                    await asyncio.sleep(0.05)
                    raise ValueError("after the response")
        """, entrypoint="main.app")  # fmt: skip
        self.assertEqual(channel.call("GET", "/late").text, "/late")
        for _ in range(20):
            self.assertEqual(channel.call("GET", "/next").text, "/next")
        self.until(lambda: b"after the response" in self.last.output["stderr"], "the error in the log")
        self.assertEqual(channel.call("GET", "/next").text, "/next")

    def test_all_slots_share_one_loop(self):
        code = """
            import asyncio
            waiting = []
            async def app(scope, receive, send):
                if scope["type"] != "http":
                    raise NotImplementedError
                event = asyncio.Event()
                waiting.append(event)
                if len(waiting) == 4:
                    for one in waiting:
                        one.set()
                await event.wait()
                await send({"type": "http.response.start", "status": 200, "headers": []})
                await send({"type": "http.response.body", "body": b"met"})
        """
        channels = [self.run_function(code, entrypoint="main.app", threads=4)] + [self.last.open() for _ in range(3)]
        for channel in channels:
            channel.request()
        self.assertEqual([channel.response().text for channel in channels], ["met"] * 4)


class Async(Case):
    def test_async_functions_of_every_convention(self):
        cases = [
            ("async def main():\n    await asyncio.sleep(0)\n    return 'x'", "flask", b"x"),
            ("async def main(request):\n    await asyncio.sleep(0)\n    return request.get_data()", "request", b"body"),
            ("async def main(event, context):\n    return {'statusCode': 200, 'body': event['body']}", "event", b"body"),
            ("async def main(text, **kwargs):\n    return text", "arguments", b'"body"'),
        ]
        for code, convention, expected in cases:
            channel = self.run_function("import asyncio\n" + code)
            self.assertEqual(self.last.convention, convention)
            for _ in range(3):
                self.assertEqual(channel.call("POST", "/", [], b"body").body, expected)

    def test_async_generators_stream(self):
        channel = self.run_function("""
            import asyncio
            async def pieces():
                for i in range(3):
                    await asyncio.sleep(0)
                    yield str(i)
            async def main():
                return pieces(), {"content-type": "text/plain"}
        """)
        answer = channel.call()
        self.assertEqual((answer.text, answer.header("content-type")), ("012", "text/plain"))

    def test_a_body_in_pieces_is_there_when_the_function_is_called(self):
        channel = self.run_function("async def main(request):\n    return str(len(request.get_data()))")
        channel.request("POST", "/", [], b"x" * 10, end=False)
        for _ in range(50):
            channel.body(b"y" * 70000)
        channel.body(b"", end=True)
        self.assertEqual(channel.response().text, str(10 + 50 * 70000))

    def test_an_exception_is_an_error_with_a_trace(self):
        channel = self.run_function("async def main():\n    raise KeyError('k')")
        with self.assertRaises(Threw) as caught:
            channel.call()
        self.assertEqual(caught.exception.message, "KeyError: 'k'")

    def test_a_stream_that_waits_is_stopped_when_the_caller_leaves(self):
        channel = self.run_function("""
            import asyncio
            async def pieces():
                try:
                    yield "first"
                    await asyncio.Event().wait()
                finally:
                    print("stopped", flush=True)
            async def main():
                return pieces()
        """)
        channel.request()
        channel.read()
        channel.frame(CANCEL)
        self.assertEqual(channel.read(), (BODY, END, b""))
        self.until(lambda: self.last.output["stdout"] == b"stopped\n", "the generator's end")


class Bodies(Case):
    def test_a_large_body_comes_back_whole(self):
        data = os.urandom(BIG)
        for flags in ((), ("-S",)):
            channel = self.run_function("from flask import request\ndef main():\n    return request.get_data()", flags=flags)
            sender = threading.Thread(target=self.send, args=(channel, data))
            sender.start()
            self.assertEqual(channel.response().body, data)
            sender.join()

    def send(self, channel, data, size=100000):
        channel.request("POST", "/", [("content-length", str(len(data)))], data[:size], end=False)
        for at in range(size, len(data), size):
            channel.body(data[at : at + size], end=at + size >= len(data))

    def test_a_large_body_streams_through(self):
        cases = {
            "request": "def main(request):\n    return iter(lambda: request.stream.read(65536) or None, None)",
            "wsgi": "def main(environ, start_response):\n    start_response('200 OK', [])\n    return iter(lambda: environ['wsgi.input'].read(65536), b'')",
            "asgi": Asgi.ECHO.replace("async def app", "async def main"),
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
        for code in ("def main(request):\n    return request.get_data()", "async def main(request):\n    return request.get_data()"):
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

    def test_an_answer_before_the_body_has_come(self):
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

    def test_frames_that_come_in_bits_are_put_together(self):
        for code in ("def main(request):\n    return request.get_data()", "async def main(request):\n    return request.get_data()"):
            channel = self.run_function(code)
            head = b"POST\0/"
            payload = len(head).to_bytes(4, "little") + head + b"abc"
            frames = len(payload).to_bytes(4, "little") + bytes([4, 0, 0, 0]) + payload + (3).to_bytes(4, "little") + bytes([5, 1, 0, 0]) + b"def"
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

    def test_a_stream_that_throws_is_cut(self):
        channel = self.run_function("def main(request):\n    yield 'a'\n    raise ValueError('cut')")
        with self.assertRaises(Threw) as caught:
            channel.call()
        self.assertEqual((caught.exception.message, caught.exception.answer.status), ("ValueError: cut", 200))

    def test_a_stream_that_throws_at_once_has_no_head(self):
        channel = self.run_function("def main(request):\n    raise ValueError('early')\n    yield 'a'")
        with self.assertRaises(Threw) as caught:
            channel.call()
        self.assertIsNone(caught.exception.answer)

    def test_a_result_that_is_no_response_is_explained(self):
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

    def test_a_cancel_that_comes_too_late_is_ignored(self):
        for code in ("def main(request):\n    return request.path", "async def main(request):\n    return request.path"):
            channel = self.run_function(code)
            channel.call()
            channel.frame(CANCEL)
            self.assertEqual(channel.call("GET", "/next").text, "/next")

    def test_a_caller_that_leaves_during_its_body_is_an_exception_for_who_reads(self):
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


class Calls(Case):
    CALL = """
        import milepost
        def main(request):
            answer = milepost.call("orders", "/7?a=1", json={"paid": True}, headers={"x-a": "1"})
            return {"status": answer.status, "json": answer.json(), "header": answer.headers["x-seen"]}
    """

    def gateway(self):
        seen = []

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                seen.append((self.path, self.headers["milepost-call"], self.headers["content-type"], body, self.client_address))
                data = json.dumps({"got": json.loads(body)}).encode()
                self.send_response(202)
                self.send_header("x-seen", self.headers["x-a"])
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *arguments):
                pass

        server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return "127.0.0.1:%d" % server.server_port, seen

    def test_a_function_calls_another_with_its_token(self):
        address, seen = self.gateway()
        channel = self.run_function(self.CALL, environment={"MILEPOST_GATEWAY": address})
        for token in ("t1", "t2"):
            answer = channel.call(headers=[(":call", token)]).json()
            self.assertEqual(answer, {"status": 202, "json": {"got": {"paid": True}}, "header": "1"})
        self.assertEqual([one[:4] for one in seen], [("/.milepost/call/orders/7?a=1", t, "application/json", b'{"paid": true}') for t in ("t1", "t2")])
        self.assertEqual(len({one[4] for one in seen}), 1, "the connection is kept")

    def test_an_async_function_calls_another(self):
        address, seen = self.gateway()
        code = self.CALL.replace("def main", "async def main").replace("milepost.call(", "await milepost.call_async(")
        channel = self.run_function(code, environment={"MILEPOST_GATEWAY": address})
        self.assertEqual(channel.call(headers=[(":call", "t")]).json()["status"], 202)
        self.assertEqual(seen[0][1], "t")

    def test_a_call_without_a_gateway_says_so(self):
        with self.assertRaises(Threw) as caught:
            self.run_function(self.CALL).call()
        self.assertIn("MILEPOST_GATEWAY", caught.exception.message)


if __name__ == "__main__":
    print("Python: %s" % interpreter(), file=sys.stderr)
    unittest.main()
