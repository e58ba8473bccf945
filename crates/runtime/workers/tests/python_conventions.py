"""The other calling conventions: events, arguments, WSGI, ASGI, async."""

from case import JSON, Case
from drive import BODY, CANCEL, END, ERROR, RESPONSE, Answer, Failed, Threw


class Events(Case):
    def test_handler_gets_an_event(self):
        channel = self.run_function("""
            import json
            def handler(event, context):
                return {"statusCode": 201, "headers": {"X-A": "1"}, "cookies": ["a=1", "b=2"], "body": json.dumps({
                    "event": event, "id": context.aws_request_id, "left": context.get_remaining_time_in_millis() > 1000})}
        """, entrypoint="handler")  # fmt: skip
        self.assertEqual(self.last.convention, "event")
        headers = [
            (":id", "r1"),
            (":deadline", "5000"),
            (":param.id", "7"),
            (":route", "/u/{id}"),
            ("x-m", "1"),
            ("x-m", "2"),
            ("cookie", "c=1"),
        ]
        answer = channel.call("POST", "/u/7?a=1&b=2&b=3", headers + [("content-type", "text/plain")], "tëxt".encode())
        self.assertEqual((answer.status, answer.header("x-a"), answer.all("set-cookie")), (201, "1", ["a=1", "b=2"]))
        found = answer.json()
        event = found["event"]
        self.assertEqual(
            (event["httpMethod"], event["path"], event["body"], event["isBase64Encoded"]),
            ("POST", "/u/7", "tëxt", False),
        )
        self.assertEqual(event["queryStringParameters"], {"a": "1", "b": "2,3"})
        self.assertEqual(event["headers"]["x-m"], "1,2")
        self.assertEqual(event["pathParameters"], {"id": "7"})
        self.assertEqual(event["requestContext"]["http"]["method"], "POST")
        self.assertEqual(event["cookies"], ["c=1"])
        self.assertEqual((found["id"], found["left"]), ("r1", True))

    def test_binary_bodies_are_base64(self):
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
        channel = self.run_function(
            "def main(name, times=1, **kwargs):\n    return {'said': name * times, 'more': sorted(kwargs)}"
        )
        self.assertEqual(self.last.convention, "arguments")
        self.assertEqual(
            channel.call("POST", "/", [JSON], b'{"name": "ab", "times": 2, "x": 1}').json(),
            {"said": "abab", "more": ["context", "x"]},
        )

    def test_query_form_and_path_become_arguments(self):
        channel = self.run_function("def main(name=None, id=None):\n    return [name, id]")
        self.assertEqual(channel.call("GET", "/?name=q&utm=1").json(), ["q", None])
        form = [("content-type", "application/x-www-form-urlencoded"), (":param.id", "7")]
        self.assertEqual(channel.call("POST", "/", form, b"name=f").json(), ["f", "7"])

    def test_passes_context_if_accepted(self):
        channel = self.run_function(
            "def main(context, name='World'):\n    return [context['request_id'], context.function, name]"
        )
        self.assertEqual(channel.call(headers=[(":id", "r9")]).json(), ["r9", "fn", "World"])

    def test_other_text_is_one_positional_argument(self):
        channel = self.run_function("def main(text='none', **kwargs):\n    return text")
        self.assertEqual(channel.call("POST", "/", [], b"plain").json(), "plain")
        self.assertEqual(channel.call("POST", "/", [JSON], b"[1, 2]").json(), "[1, 2]")
        self.assertEqual(channel.call("POST", "/", [JSON], b'"a \\"text\\""').json(), 'a "text"')
        self.assertEqual(channel.call("POST", "/", [JSON], b'"broken').json(), '"broken')
        self.assertEqual(channel.call("POST", "/", [], b'"plain"').json(), '"plain"')
        self.assertEqual(channel.call().json(), "none")

    def test_none_is_null(self):
        channel = self.run_function("def main(**kwargs):\n    return None")
        answer = channel.call()
        self.assertEqual(
            (answer.status, answer.body, answer.header("content-type")), (200, b"null", "application/json")
        )

    def test_explains_mismatched_arguments(self):
        channel = self.run_function("def main(name, other):\n    return name")
        with self.assertRaises(Threw) as caught:
            channel.call("POST", "/", [JSON], b'{"name": 1}')
        self.assertIn("missing 1 required positional argument: 'other'", caught.exception.message)
        self.assertIn("JSON body", caught.exception.message)

    def test_the_convention_can_be_chosen(self):
        channel = self.run_function(
            "def main(request):\n    return request", variables={"MILEPOST_CONVENTION": "arguments"}
        )
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
        answer = channel.call(
            "POST",
            "/a%2Fb%C3%BC?q=%20",
            [("host", "h:81"), ("x-one", "1"), ("x-one", "2"), ("content-length", "3"), (":client", "1.2.3.4")],
            b"abc",
        )
        found = answer.json()
        self.assertEqual((answer.status, answer.all("set-cookie")), (201, ["a=1", "b=2"]))
        env = found["env"]
        self.assertEqual(env["PATH_INFO"].encode("latin-1").decode(), "/a/bü")
        self.assertEqual((env["QUERY_STRING"], env["HTTP_X_ONE"], env["CONTENT_LENGTH"]), ("q=%20", "1,2", "3"))
        self.assertEqual((env["SERVER_NAME"], env["SERVER_PORT"], env["REMOTE_ADDR"]), ("h", "81", "1.2.3.4"))
        self.assertEqual(found["body"], "abc")

    def test_a_stripped_prefix_is_the_script_name(self):
        channel = self.run_function("""
            import json
            def app(environ, start_response):
                start_response("200 OK", [])
                return [json.dumps([environ[k] for k in ("SCRIPT_NAME", "PATH_INFO", "REQUEST_URI")]).encode()]
        """, entrypoint="main.app")  # fmt: skip
        for prefix, target, expected in [
            ("/api", "/x%20y?q", ["/api", "/x y", "/api/x%20y?q"]),
            ("/a%20b/", "/", ["/a b", "/", "/a%20b/"]),
            ("nonsense", "/x", ["", "/x", "/x"]),
        ]:
            answer = channel.call("GET", target, [("x-forwarded-prefix", prefix)])
            self.assertEqual(answer.json(), expected)

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

    def test_streams_the_request_body(self):
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


class Mounted(Case):
    def test_an_asgi_path_begins_with_the_root_path(self):
        channel = self.run_function("""
            import json
            async def app(scope, receive, send):
                found = [scope["root_path"], scope["path"], scope["raw_path"].decode()]
                await send({"type": "http.response.start", "status": 200, "headers": []})
                await send({"type": "http.response.body", "body": json.dumps(found).encode()})
        """, entrypoint="main.app")  # fmt: skip
        answer = channel.call("GET", "/x%20y?q", [("x-forwarded-prefix", "/%C3%BC")])
        self.assertEqual(answer.json(), ["/ü", "/ü/x y", "/%C3%BC/x%20y"])
        self.assertEqual(channel.call("GET", "/x", []).json(), ["", "/x", "/x"])

    def test_links_of_a_request_begin_with_the_prefix(self):
        channel = self.run_function("""
            def main(request):
                return "|".join((request.script_root, request.path, request.url, request.base_url, request.url_root))
        """)  # fmt: skip
        answer = channel.call("GET", "/x?q=1", [("host", "h:81"), ("x-forwarded-prefix", "/api")])
        self.assertEqual(answer.text, "/api|/x|http://h:81/api/x?q=1|http://h:81/api/x|http://h:81/api/")


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
        answer = channel.call(
            "GET",
            "/facts?q=%20",
            [("host", "h:81"), ("x-l", b"\xe9"), (":client", "1.2.3.4"), ("x-forwarded-proto", "https")],
        )
        found = answer.json()
        self.assertEqual(
            (found["path"], found["query_string"], found["scheme"], found["client"]),
            ("/facts", "q=%20", "https", ["1.2.3.4", 0]),
        )
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

    def test_leaving_is_a_disconnect(self):
        channel = self.run_function(self.ECHO, entrypoint="main.app")
        channel.request("POST", "/", [], b"one", end=False)
        channel.read()
        channel.frame(CANCEL)
        kind, _, payload = channel.read()
        # The application gave up in the middle, so its response cannot be complete.
        self.assertEqual(kind, ERROR)
        self.until(lambda: b"gone" in self.last.output["stdout"], "the disconnect")
        self.assertEqual(channel.call("POST", "/", [], b"next").body, b"next")

    def test_a_failed_startup_fails_the_load(self):
        with self.assertRaises(Failed) as caught:
            self.run_function("""
                async def app(scope, receive, send):
                    await receive()
                    await send({"type": "lifespan.startup.failed", "message": "no database"})
            """, entrypoint="main.app")  # fmt: skip
        self.assertIn("no database", caught.exception.message)

    def test_work_after_the_response_does_not_affect_the_next(self):
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
            (
                "async def main(event, context):\n    return {'statusCode': 200, 'body': event['body']}",
                "event",
                b"body",
            ),
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

    def test_collects_the_body_before_calling_the_function(self):
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

    def test_a_stalled_stream_stops_when_the_caller_leaves(self):
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
