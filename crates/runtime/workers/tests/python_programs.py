"""Programs that run once per request."""

import os

from case import Case
from drive import Failed, Threw

ENV = """#!/bin/sh
cat
echo "$REQUEST_METHOD $REQUEST_URI $CONTENT_LENGTH $HTTP_X_NAME $GREETING $HTTP_MILEPOST_X"
"""


class Programs(Case):
    def program(self, files, **init):
        return self.run_function(files, program=True, **init)

    def test_the_output_is_the_response(self):
        channel = self.program({"hello": "#!/bin/sh\necho hi\n"})
        self.assertEqual(self.last.convention, "program")
        for _ in range(3):
            answer = channel.call()
            self.assertEqual((answer.status, answer.body), (200, b"hi\n"))
            self.assertEqual(answer.header("content-type"), "text/plain; charset=utf-8")

    def test_runs_every_kind_of_executable(self):
        with open("/bin/echo", "rb") as file:
            echo = file.read()
        for files, entrypoint, expected in (
            ({"main": "echo no first line"}, "", b"no first line\n"),
            ({"main": "#!/bin/sh\necho main", "other": ""}, "", b"main\n"),
            ({"bin/it": "#!/usr/bin/env sh\necho $0", "x": ""}, "bin/it", None),
            ({"a": "", "b": echo}, "b", b"\n"),
        ):
            self.assertEqual(self.program(files, entrypoint=entrypoint).call().body, expected or self.last.folder.encode() + b"/bin/it\n")
        folder = self.write({"main": "echo executable"})
        os.chmod(os.path.join(folder, "main"), 0o755)
        self.assertEqual(self.program({"x": ""}, code=folder).call().body, b"executable\n")

    def test_passes_the_request_in_stdin_and_variables(self):
        channel = self.program({"main": ENV}, variables={"GREETING": "hello"})
        headers = [("x-name", "it; rm -rf"), ("milepost_x", "forged"), ("content-length", "4")]
        answer = channel.call("POST", "/a?b=c", headers, b"body")
        self.assertEqual(answer.body, b"bodyPOST /a?b=c 4 it; rm -rf hello \n")
        self.send(channel, b"x" * 300000)
        self.assertEqual(channel.response().body[:300000], b"x" * 300000)

    def test_ignores_the_proxy_header(self):
        channel = self.program({"main": "echo ${HTTP_PROXY-none} ${HTTP_PROXY_MODE-none} ${HTTP_X_FISSION_PARAMS_USER_ID-none}"})
        for name in ("proxy", "Proxy", "PROXY"):
            answer = channel.call("GET", "/", [(name, "http://6.6.6.6"), ("proxy-mode", "x"), ("x-fission-params-user_id", "7")])
            self.assertEqual(answer.body, b"none x 7\n")

    def test_a_program_that_fails_is_an_error(self):
        channel = self.program({"main": "#!/bin/sh\necho why >&2\necho part\nexit $(cat)\n"})
        for code in (b"3", b"127"):
            with self.assertRaises(Threw) as caught:
                channel.call("POST", "/", [], code)
            self.assertEqual(caught.exception.message, "the program ended with exit code " + code.decode())
        self.assertIn(b"why\n", self.last.output["stderr"])
        channel = self.program({"main": "kill -SEGV $$"})
        with self.assertRaises(Threw) as caught:
            channel.call()
        self.assertEqual(caught.exception.message, "the program was killed by SIGSEGV")
        self.assertNotIn(b"Traceback", self.last.output["stderr"])

    def test_bounds_output_and_leftover_processes(self):
        channel = self.program({"main": "exec cat /dev/zero"})
        with self.assertRaises(Threw) as caught:
            channel.call()
        self.assertEqual(caught.exception.message, "the program printed more than 16 MiB")
        channel = self.program({"main": "sleep 60 &\necho $!"})
        child = channel.call().text.strip()
        self.until(lambda: not os.path.exists("/proc/%s" % child), "the end of what was left running")

    def test_names_a_missing_program(self):
        for files, entrypoint in (({"a": "", "b": ""}, ""), ({"a": ""}, "nosuch"), ({"a": ""}, "../a")):
            with self.assertRaises(Failed):
                self.program(files, entrypoint=entrypoint)
