"""Functions that use Flask's request, with the stand-in and with Flask itself."""

import json
import subprocess
import unittest

from case import JSON, Case
from drive import Failed, Threw, interpreter


class StandIn(Case):
    """The stand-in for Flask's request and responses, without Flask."""

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

    PLAIN = """
        from flask import request, jsonify
        def main():
            return jsonify(args=dict(request.args), form=dict(request.form), cookies=dict(request.cookies), both={**request.args, "x": 1},
                names=list(request.args), same=request.args == request.args.copy())
    """

    def test_dict_of_a_multidict_has_the_first_values(self):
        headers = [("content-type", "application/x-www-form-urlencoded"), ("cookie", "c=5")]
        found = self.run_function(self.PLAIN).call("POST", "/?a=1&a=2&b=3", headers, b"f=4&f=5").json()
        args = {"a": "1", "b": "3"}
        wanted = {"args": args, "form": {"f": "4"}, "cookies": {"c": "5"}, "both": {**args, "x": 1}, "names": ["a", "b"]}
        self.assertEqual(found, {**wanted, "same": True})

    def test_forms_are_parsed(self):
        channel = self.run_function(self.ECHO)
        form = channel.call(
            "POST", "/?q=1", [("content-type", "application/x-www-form-urlencoded")], b"a=1&b=%C3%A4+x"
        ).json()
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
        self.assertEqual(
            found, {"name": 'a "b".bin', "type": "application/x-thing", "hex": content.hex(), "field": "väl"}
        )

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
        self.assertEqual(
            (text.status, text.text, text.header("content-type")), (200, "t€xt", "text/html; charset=utf-8")
        )
        self.assertEqual(get("bytes").body, b"\x00\xff")
        self.assertEqual(get("dict").json(), {"a": "ü"})
        self.assertEqual(get("dict").header("content-type"), "application/json")
        self.assertEqual(get("list").json(), [1, 2])
        self.assertEqual((get("none").status, get("none").body, get("none").headers), (204, b"", []))
        self.assertEqual((get("status").status, get("status").text), (201, "made"))
        tea = get("all")
        self.assertEqual((tea.status, tea.header("x-tea"), tea.all("set-cookie")), (418, "pot", ["a=1", "b=2"]))
        self.assertEqual((get("headers").json(), get("headers").header("x-h")), ({"a": 1}, "1"))
        self.assertEqual(
            (get("response").status, get("response").header("content-type")), (202, "text/plain; charset=utf-8")
        )
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

    def test_headers_are_preserved_byte_for_byte(self):
        channel = self.run_function("""
            from flask import request
            def main():
                return "x", 200, {"x-back": request.headers["x-latin"], "x-wide": "€"}
        """)
        answer = channel.call(headers=[("x-latin", b"caf\xe9 \xff")])
        self.assertIn((b"x-back", b"caf\xe9 \xff"), answer.headers)
        self.assertIn((b"x-wide", "€".encode()), answer.headers)

    def test_rejects_header_injection(self):
        for value in ("a\\0b\\0c", "a\\r\\nb: c"):
            channel = self.run_function('def main():\n    return "x", 200, {"x-a": "%s"}' % value)
            with self.assertRaises(Threw) as caught:
                channel.call()
            self.assertIn("x-a", caught.exception.message)
        with self.assertRaises(Threw):
            self.run_function('def main():\n    return "x", 200, {":id": "1"}').call()

    def test_names_what_the_stand_in_lacks(self):
        with self.assertRaises(Failed) as caught:
            self.run_function("from flask import Flask\napp = Flask(__name__)")
        self.assertIn("put Flask into the package", caught.exception.message)

    def test_main_of_request_gets_the_request(self):
        for name in ("request", "req", "_"):
            channel = self.run_function(
                "def main(%s):\n    return %s.method + %s.get_data(as_text=True)" % (name, name, name)
            )
            self.assertEqual(self.last.convention, "request")
            self.assertEqual(channel.call("PUT", "/", [], b"abc").text, "PUTabc")


def has_flask():
    return subprocess.call([interpreter(), "-I", "-c", "import flask"], stderr=subprocess.DEVNULL) == 0


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

    def test_current_app_exists_during_the_import(self):
        for importing in ("from flask import Flask, current_app", "import flask\nfrom flask import Flask, current_app"):
            channel = self.run_function(
                importing
                + """
seen = current_app.name
current_app.config["MARK"] = "kept"
def main():
    return seen + " " + current_app.config["MARK"]
"""
            )
            self.assertEqual(channel.call().text, "milepost kept")
        # There is none between requests, as outside of an import.
        channel = self.run_function(
            """
            from flask import has_app_context, request
            import threading
            inside = has_app_context()
            def main():
                return str(inside)
            """
        )
        self.assertEqual(channel.call().text, "True")

    def test_keeps_a_context_pushed_by_the_code(self):
        channel = self.run_function(
            """
            from flask import Flask, current_app
            app = Flask("mine")
            app.app_context().push()
            def main(environ, start_response):
                start_response("200 OK", [])
                return [current_app.name.encode()]
            """
        )
        self.assertEqual(channel.call().text, "mine")

    def test_detects_a_late_import_of_flask(self):
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
