"""Drives the v1 interface with its own client, python-qinlingclient: `client.py CLASS` runs the cases of one class."""

import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request
import zipfile

from qinlingclient import client as qinling
from qinlingclient.common import exceptions

URL = os.environ["MILEPOST_V1_URL"]
TOKEN = os.environ["MILEPOST_V1_TOKEN"]
SHOP = os.environ["MILEPOST_V1_SHOP"]
READER = os.environ["MILEPOST_V1_READER"]
PATIENCE = 60


def packed(**files):
    """A zip of these files: `main="…"` is `main.py`."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in files.items():
            name = name.replace("__", ".") if "__" in name else name + ".py"
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 2, 3, 4, 6)), text)
    return out.getvalue()


def code_of(data):
    return {"source": "package", "md5sum": hashlib.md5(data).hexdigest()}


class Case(unittest.TestCase):
    def setUp(self):
        self.client = qinling.Client("1", URL, token=TOKEN)
        self.runtime = self.client.runtimes.create("openstackqinling/python3-runtime", name="python")

    def function(self, source=None, data=None, client=None, **more):
        data = data or packed(main=source)
        more.setdefault("timeout", 30)
        return (client or self.client).functions.create(
            code_of(data), runtime=self.runtime.id, package=io.BytesIO(data), **more
        )

    def update(self, function, source=None, data=None, **more):
        return self.client.functions.update(
            function.id, code={"source": "package"}, package=io.BytesIO(data or packed(main=source)), **more
        )

    def run_it(self, function=None, version=0, input=None, alias=None, client=None, **more):
        execution = (client or self.client).function_executions.create(
            function_id=function and function.id, function_alias=alias, function_version=version, input=input, **more
        )
        if input and input.startswith("{"):
            self.assertEqual(json.loads(execution.input), json.loads(input))
        else:
            self.assertEqual(execution.input, input)
        self.assertEqual(execution.project_id, (client and "shop") or "default")
        return execution

    def output(self, *arguments, **named):
        execution = self.run_it(*arguments, **named)
        self.assertEqual(execution.status, "success", execution.to_dict())
        return json.loads(execution.result)["output"]

    def wait_for(self, execution_id):
        end = time.monotonic() + PATIENCE
        while True:
            execution = self.client.function_executions.get(execution_id)
            if execution.status != "running":
                return execution
            self.assertLess(time.monotonic(), end, "the execution did not end")
            time.sleep(0.05)

    def refused(self, code, words, call, /, *arguments, **named):
        with self.assertRaises(exceptions.HTTPException) as caught:
            call(*arguments, **named)
        self.assertEqual(caught.exception.code, code, caught.exception)
        self.assertIn(words, str(caught.exception))


class Life(Case):
    def test_a_function_from_its_first_code_to_its_end(self):
        self.assertEqual(self.client.runtimes.get(self.runtime.id).status, "available")
        first = packed(main="def main(name='World', **kwargs):\n    return 'Hello, %s' % name\n")
        function = self.function(data=first, name="greet")
        shown = self.client.functions.get(function.id).to_dict()
        self.assertEqual(shown["code"], code_of(first))
        self.assertEqual((shown["cpu"], shown["memory_size"], shown["timeout"]), (100, 33554432, 30))
        self.assertEqual((shown["entry"], shown["count"], shown["latest_version"]), ("main.main", 0, 0))
        self.assertEqual((shown["runtime_id"], shown["project_id"]), (self.runtime.id, "default"))
        self.assertRegex(shown["created_at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertIsNone(shown["updated_at"])
        self.assertEqual(self.client.functions.find(name="greet").id, function.id)
        self.assertEqual(self.output(function), "Hello, World")
        self.assertEqual(self.output(function, input='{"name": "Qinling"}'), "Hello, Qinling")

        one = self.client.function_versions.create(function.id, "the first")
        self.assertEqual((one.version_number, one.description, one.count), (1, "the first", 0))
        again = self.client.function_versions.create(function.id)
        self.assertEqual((again.version_number, again.description), (2, None))
        second = packed(other="def run(**kwargs):\n    return kwargs['context']['function']\n")
        updated = self.update(function, data=second, entry="other.run", memory_size=67108864, cpu=200, timeout=7)
        self.assertEqual((updated.entry, updated.memory_size, updated.cpu, updated.timeout), ("other.run", 67108864, 200, 7))
        self.assertIsNotNone(updated.updated_at)
        self.assertEqual(self.client.function_versions.create(function.id).version_number, 3)
        self.assertEqual(self.output(function), "greet")
        self.assertEqual(self.output(function, version=1, input='{"name": "one"}'), "Hello, one")
        self.assertEqual(self.output(function, version=3), "greet")
        shown = self.client.functions.get(function.id)
        self.assertEqual((shown.count, shown.latest_version), (3, 3))
        self.assertEqual([v.count for v in self.client.function_versions.list(function.id)], [1, 0, 1])

        self.assertEqual(self.client.functions.get(function.id, download=True).content, second)
        for number, data in ((1, first), (2, first), (3, second)):
            url = "/v1/functions/%s/versions/%d?download=true" % (function.id, number)
            answer = self.client.http_client.request(url, "GET")
            self.assertEqual(answer.content, data)
            self.assertEqual(answer.headers["content-type"], "application/zip")
            self.assertIn("attachment", answer.headers["content-disposition"])

        self.refused(400, "The function code checksum is not changed.", self.update, function, data=second)
        url = "/v1/functions/%s/versions/2" % function.id
        _, edited = self.client.http_client.json_request(url, "PUT", data={"description": "better"})
        self.assertEqual((edited["description"], edited["version_number"]), ("better", 2))
        self.client.function_versions.delete(function.id, 3)
        self.assertEqual(self.output(function), "greet", "the newest code is still there")
        self.assertEqual(self.client.function_versions.create(function.id).version_number, 4)
        self.client.function_versions.delete(function.id, 1)
        self.assertEqual([v.version_number for v in self.client.function_versions.list(function.id)], [2, 4])
        self.refused(404, "FunctionVersion not found", self.run_it, function, version=1)
        self.refused(403, "Runtime %s is still in use." % self.runtime.id, self.client.runtimes.delete, self.runtime.id)
        self.client.functions.delete(function.id)
        self.refused(404, "Function not found [id=%s]" % function.id, self.client.functions.get, function.id)
        self.client.runtimes.delete(self.runtime.id)

    def test_an_old_version_answers_as_it_did_after_ten_updates(self):
        function = self.function("def main(**kwargs):\n    return 0\n", name="many")
        self.client.function_versions.create(function.id)
        for number in range(1, 11):
            self.update(function, "def main(**kwargs):\n    return %d\n" % number, timeout=20 + number)
            self.client.function_versions.create(function.id)
        for version in (1, 5, 11):
            self.assertEqual(self.output(function, version=version), version - 1)
        self.assertEqual(self.output(function), 10)

    def test_two_functions_may_have_one_name(self):
        ids = {self.function("def main(**kwargs):\n    return 1\n", name="same name / ä").id for _ in range(2)}
        self.assertEqual(len(ids), 2)
        self.assertEqual(self.function("def main(**kwargs):\n    return 1\n").to_dict()["name"], None)


class Ends(Case):
    def test_inputs_become_arguments(self):
        function = self.function("def main(text='none', **kwargs):\n    return [text, 'context' in kwargs, sorted(kwargs)]\n")
        self.assertEqual(self.output(function, input="plain text"), ["plain text", True, ["context"]])
        self.assertEqual(self.output(function, input="[1, 2]")[0], "[1, 2]")
        self.assertEqual(self.output(function, input='{"text": "t", "more": 1}'), ["t", True, ["context", "more"]])
        self.assertEqual(self.output(function), ["none", True, ["context"]])

    def test_an_exception_a_timeout_and_a_kill_are_failures(self):
        source = (
            "import os, time\n"
            "def main(how, **kwargs):\n"
            "    print('about to', how, flush=True)\n"
            "    if how == 'throw':\n        raise ValueError('as asked')\n"
            "    if how == 'sleep':\n        time.sleep(60)\n"
            "    if how == 'die':\n        os._exit(1)\n"
            "    if how == 'hoard':\n        raise MemoryError()\n"
            "    return {'set': how}\n"
        )
        function = self.function(source, timeout=2)
        threw = self.run_it(function, input="throw")
        self.assertEqual((threw.status, json.loads(threw.result)["output"]), ("failed", "as asked"))
        log = self.client.http_client.request("/v1/executions/%s/log" % threw.id, "GET")
        self.assertIn("text/plain", log.headers["content-type"])
        lines = log.text.splitlines()
        self.assertEqual(lines[0], "Start execution: %s" % threw.id)
        self.assertEqual(lines[-1], "Finished execution: %s" % threw.id)
        self.assertIn("about to throw", lines)
        self.assertTrue(any("Traceback" in line for line in lines), log.text)
        slept = self.run_it(function, input="sleep")
        self.assertEqual((slept.status, json.loads(slept.result)["output"]), ("failed", "Function execution timeout."))
        died = self.run_it(function, input="die")
        self.assertEqual(died.status, "failed")
        self.assertIn("exit code 1", json.loads(died.result)["output"])
        hoarded = self.run_it(function, input="hoard")
        killed = "Function execution failed because of too much resource consumption"
        self.assertEqual((hoarded.status, json.loads(hoarded.result)["output"]), ("failed", killed))
        fine = self.run_it(function, input="ok")
        result = json.loads(fine.result)
        self.assertEqual((fine.status, result["output"], sorted(result)), ("success", {"set": "ok"}, ["duration", "output"]))
        self.assertIsInstance(result["duration"], float)

    def test_an_execution_that_nobody_waits_for_is_found_later(self):
        function = self.function("def main(**kwargs):\n    return 'later'\n")
        begun = self.run_it(function, sync=False)
        self.assertEqual((begun.sync, begun.function_version), (False, 0))
        ended = self.wait_for(begun.id)
        self.assertEqual((ended.status, json.loads(ended.result)["output"]), ("success", "later"))
        listed = self.client.function_executions.list(function_id=function.id, status="success")
        self.assertEqual([execution.id for execution in listed], [begun.id])
        self.assertEqual(self.client.function_executions.list(function_id=function.id, status="neq:success"), [])
        self.client.function_executions.delete(begun.id)
        self.refused(404, "not found", self.client.function_executions.get, begun.id)

    def test_a_function_writes_beside_its_files(self):
        source = (
            "import os\n"
            "def main(context, **kwargs):\n"
            "    with open('new.txt', 'a') as file:\n        file.write('x')\n"
            "    return [open('data.txt').read(), open('new.txt').read(), sorted(os.listdir()), context['os_session']]\n"
        )
        function = self.function(data=packed(main=source, data__txt="read me"))
        # Python keeps what it compiled beside the code, if it can.
        data, new, names, session = self.output(function)
        self.assertEqual((data, new, session), ("read me", "x", None))
        self.assertEqual([name for name in names if name != "__pycache__"], ["data.txt", "main.py", "new.txt"])
        self.runtime = self.client.runtimes.create("openstackqinling/nodejs-runtime", name="node")
        source = (
            "const fs = require('fs')\n"
            "exports.main = async () => { fs.writeFileSync('new.txt', 'x'); return fs.readFileSync('data.txt', 'utf8') }\n"
        )
        function = self.function(data=packed(main__js=source, data__txt="read me"), memory_size=134217728)
        self.assertEqual(self.output(function), "read me")

    def test_node_gets_the_context_and_the_input(self):
        self.runtime = self.client.runtimes.create("openstackqinling/nodejs-runtime", name="node")
        source = "exports.main = async (context, input) => ({ input, known: typeof context.requestId })\n"
        function = self.function(data=packed(main__js=source), memory_size=134217728)
        self.assertEqual(self.output(function, input='{"a": 1}'), {"input": {"a": 1}, "known": "string"})
        self.assertEqual(self.output(function, input="text"), {"input": "text", "known": "string"})


class Starters(Case):
    def setUp(self):
        super().setUp()
        self.f = self.function("def main(**kwargs):\n    kwargs.pop('context')\n    return ['one', kwargs]\n", name="f")
        self.client.function_versions.create(self.f.id)

    def invoke(self, webhook, query="", body=b"", kind=None):
        request = urllib.request.Request(webhook.webhook_url + query, data=body, method="POST")
        if kind:
            request.add_header("content-type", kind)
        with urllib.request.urlopen(request) as answer:
            self.assertEqual(answer.status, 202)
            return self.wait_for(json.load(answer)["execution_id"])

    def test_a_webhook_turns_what_it_gets_into_the_input(self):
        webhook = self.client.webhooks.create(self.f.id, function_version=1, description="d")
        self.assertEqual(webhook.webhook_url, "%s/v1/webhooks/%s/invoke" % (URL, webhook.id))
        self.assertEqual((webhook.function_version, webhook.function_id, webhook.description), (1, self.f.id, "d"))
        for arguments in (
            {"body": b'{"a": "1"}', "kind": "application/json"},
            {"body": b"a=1", "kind": "application/x-www-form-urlencoded"},
            {"query": "?a=1"},
        ):
            execution = self.invoke(webhook, **arguments)
            self.assertEqual(execution.status, "success", execution.to_dict())
            self.assertEqual(json.loads(execution.result)["output"], ["one", {"a": "1"}])
            self.assertEqual(execution.description, "Created by Webhook %s" % webhook.id)
            self.assertEqual((execution.function_version, execution.sync), (1, False))
        words = "The function version is still associated with webhook."
        self.refused(403, words, self.client.function_versions.delete, self.f.id, 1)
        words = "The function is still associated with webhook(s)."
        self.refused(403, words, self.client.functions.delete, self.f.id)
        moved = self.client.webhooks.update(webhook.id, function_version=0, description="e")
        self.assertEqual((moved.function_version, moved.description), (0, "e"))
        self.client.function_versions.delete(self.f.id, 1)
        self.client.webhooks.delete(webhook.id)
        self.refused(404, "Webhook not found", self.client.webhooks.get, webhook.id)
        self.client.functions.delete(self.f.id)

    def test_an_alias_is_moved_and_held(self):
        alias = self.client.function_aliases.create("prod", self.f.id, function_version=1)
        self.assertEqual((alias.function_version, alias.function_id), (1, self.f.id))
        newest = self.client.function_aliases.create("newest", self.f.id)
        self.assertEqual(newest.function_version, 0)
        other = self.client.function_aliases.create("other", self.f.id, function_version=1)
        self.update(self.f, "def main(**kwargs):\n    return 'two'\n")
        self.client.function_versions.create(self.f.id)
        self.assertEqual(self.output(alias="prod", version=None), ["one", {}])
        self.assertEqual(self.output(alias="newest", version=None), "two")
        ran = self.run_it(alias="prod", version=None)
        self.assertEqual((ran.function_alias, ran.function_id, ran.function_version), ("prod", self.f.id, 1))
        self.client.function_aliases.update("prod", function_version=2)
        self.assertEqual(self.output(alias="prod", version=None), "two")
        words = "The function version is still associated with alias."
        self.refused(403, words, self.client.function_versions.delete, self.f.id, 1)
        self.client.function_aliases.delete(other.name)
        self.client.function_versions.delete(self.f.id, 1)
        words = "The function is still associated with function alias(es)."
        self.refused(403, words, self.client.functions.delete, self.f.id)
        self.assertEqual([a.name for a in self.client.function_aliases.list()], ["newest", "prod"])
        for name in ("prod", "newest"):
            self.client.function_aliases.delete(name)
        self.refused(404, "FunctionAlias not found [name=prod]", self.client.function_aliases.get, "prod")
        self.client.functions.delete(self.f.id)

    def test_a_job_is_paused_resumed_and_cancelled(self):
        job = self.client.jobs.create(function_id=self.f.id, function_version=1, name="j", pattern="0 3 * * *", count=2)
        self.assertEqual((job.status, job.count, job.pattern, job.function_version), ("running", 2, "0 3 * * *", 1))
        self.assertEqual(job.first_execution_time, job.next_execution_time)
        self.assertRegex(job.next_execution_time, "T03:00:00Z$")
        words = "The function version is still associated with running job(s)."
        self.refused(403, words, self.client.function_versions.delete, self.f.id, 1)
        words = "The function is still associated with running job(s)."
        self.refused(403, words, self.client.functions.delete, self.f.id)
        self.refused(403, words, self.update, self.f, "def main(**kwargs):\n    return 2\n")
        renamed = self.client.functions.update(self.f.id, name="g", description="d", timeout=9)
        self.assertEqual((renamed.name, renamed.description, renamed.timeout), ("g", "d", 9))
        self.assertEqual(self.client.jobs.update(job.id, status="paused").status, "paused")
        self.assertEqual(self.client.jobs.get(job.id).next_execution_time, job.next_execution_time)
        self.assertEqual(self.client.jobs.update(job.id, status="running", pattern="0 4 * * *").pattern, "0 4 * * *")
        self.refused(400, "Invalid status.", self.client.jobs.update, job.id, status="done")
        self.assertEqual(self.client.jobs.update(job.id, status="cancelled").status, "cancelled")
        self.refused(400, "Can not update a finished job.", self.client.jobs.update, job.id, status="running")
        self.client.function_versions.delete(self.f.id, 1)
        once = self.client.jobs.create(function_id=self.f.id, first_execution_time="2099-01-02T03:04:05")
        self.assertEqual((once.count, once.first_execution_time), (1, "2099-01-02T03:04:05Z"))
        self.refused(400, "Can not change job type.", self.client.jobs.update, once.id, pattern="0 3 * * *")
        self.assertEqual([j.id for j in self.client.jobs.list()], [job.id, once.id])
        for one in (job, once):
            self.client.jobs.delete(one.id)
        self.refused(404, "Job not found", self.client.jobs.get, job.id)
        self.client.functions.delete(self.f.id)


class Firing(Case):
    def test_an_alias_is_resolved_at_each_firing(self):
        function = self.function("def main(text, **kwargs):\n    return 'one'\n")
        self.client.function_versions.create(function.id)
        self.update(function, "def main(text, **kwargs):\n    return 'two'\n")
        self.client.function_versions.create(function.id)
        self.client.function_aliases.create("prod", function.id, function_version=1)
        job = self.client.jobs.create(function_alias="prod", pattern="* * * * *", count=1, function_input="x")
        self.assertEqual((job.function_alias, job.function_input), ("prod", "x"))
        self.assertEqual((job.function_id, job.function_version), (None, 0))
        self.client.function_aliases.update("prod", function_version=2)
        end = time.monotonic() + 61 + PATIENCE
        while not (found := self.client.function_executions.list(description="Created by Job %s" % job.id)):
            self.assertLess(time.monotonic(), end, "the job did not fire")
            time.sleep(0.5)
        execution = self.wait_for(found[0].id)
        self.assertEqual((execution.status, execution.function_version), ("success", 2), execution.to_dict())
        self.assertEqual((execution.function_alias, execution.input), ("prod", "x"))
        done = self.client.jobs.get(job.id)
        self.assertEqual((done.status, done.count), ("done", 0))


class Projects(Case):
    def test_a_project_has_its_own_and_the_public_runtimes(self):
        shop = qinling.Client("1", URL, token=SHOP)
        self.assertIn(self.runtime.id, [runtime.id for runtime in shop.runtimes.list()])
        self.refused(403, "may not administer", shop.runtimes.create, "python")
        function = self.function("def main(**kwargs):\n    return kwargs['context']['app']\n", client=shop, name="in-shop")
        self.assertEqual((function.project_id, function.runtime_id), ("shop", self.runtime.id))
        self.assertEqual(self.output(function, client=shop), "shop")
        self.assertEqual(len(shop.runtimes.list()), len(self.client.runtimes.list()), "its copy is not listed")
        self.refused(403, "still in use", self.client.runtimes.delete, self.runtime.id)

        self.assertNotIn(function.id, [f.id for f in self.client.functions.list()])
        self.assertIn(function.id, [f.id for f in self.client.functions.list(all_projects="true")])
        self.assertEqual([f.id for f in self.client.functions.list(project_id="shop")], [function.id])
        self.assertEqual(self.client.functions.get(function.id).name, "in-shop")
        self.refused(404, "Function not found", self.client.function_versions.create, function.id)
        shop.function_versions.create(function.id)
        self.assertEqual(len(self.client.function_versions.list(function.id)), 1)
        self.refused(404, "Function not found", self.client.function_versions.delete, function.id, 1)
        self.refused(403, "Function can only be deleted by its owner.", self.client.functions.delete, function.id)
        self.refused(403, "all projects", shop.functions.list, all_projects="true")
        self.assertEqual([f.id for f in shop.functions.list(project_id="default")], [function.id])
        mine = self.function("def main(**kwargs):\n    return 1\n")
        self.refused(404, "Function not found", shop.functions.get, mine.id)
        self.refused(404, "Function not found", self.run_it, mine, client=shop)

        reader = qinling.Client("1", URL, token=READER)
        self.assertEqual([f.id for f in reader.functions.list()], [function.id])
        self.refused(403, "may not", reader.functions.delete, function.id)
        for token in ("notused", ""):
            with self.assertRaises(exceptions.HTTPUnauthorized):
                qinling.Client("1", URL, token=token).functions.list()


class Workers(Case):
    def names(self, function):
        return [worker.worker_name for worker in self.client.function_workers.list(function.id)]

    def until(self, function, count):
        end = time.monotonic() + PATIENCE
        while len(names := self.names(function)) != count:
            self.assertLess(time.monotonic(), end, "there are %s, wanted %d" % (names, count))
            time.sleep(0.05)
        return names

    def test_workers_come_and_go(self):
        function = self.function("def main(**kwargs):\n    return 1\n", name="w")
        self.assertEqual(self.names(function), [])
        self.client.functions.scaleup(function.id, 2)
        self.assertEqual(len(set(self.until(function, 2))), 2)
        self.assertEqual(self.output(function), 1)
        self.client.functions.scaledown(function.id, 5)
        self.until(function, 1)
        self.client.functions.detach(function.id)
        self.until(function, 0)
        self.assertEqual(self.output(function), 1, "a call starts one")
        self.until(function, 1)
        self.client.function_versions.create(function.id)
        self.client.function_versions.detach(function.id, 1)
        self.until(function, 0)
        self.refused(404, "FunctionVersion not found", self.client.function_versions.detach, function.id, 9)
        self.refused(400, "greater or equal to 1", self.client.functions.scaleup, function.id, 0)
        pool = self.client.runtimes.get_pool(self.runtime.id)
        self.assertEqual(pool.name, self.runtime.id)
        self.assertEqual(sorted(pool.capacity), ["available", "total"])


class CommandLine(Case):
    def openstack(self, *arguments, fails=False):
        program = os.path.join(os.path.dirname(sys.executable), "openstack")
        access = ["--os-auth-type", "admin_token", "--os-endpoint", URL, "--os-token", TOKEN, "--qinling-url", URL]
        done = subprocess.run([program, *access, *arguments], capture_output=True, text=True)
        self.assertEqual(done.returncode != 0, fails, done.stdout + done.stderr)
        return done.stdout + done.stderr if fails else done.stdout

    def test_what_people_type(self):
        folder = tempfile.mkdtemp()
        path = os.path.join(folder, "hello.py")
        with open(path, "w") as file:
            file.write("def main(name='World', **kwargs):\n    print('in', name)\n    return 'Hello, ' + name\n")
        made = json.loads(
            self.openstack(
                "function", "create", "--runtime", self.runtime.id, "--file", path, "--entry", "hello.main",
                "--name", "hello", "--timeout", "20", "-f", "json",
            )
        )  # fmt: skip
        self.openstack("function", "version", "create", "hello", "--description", "d")
        ran = json.loads(
            self.openstack(
                "function", "execution", "create", "--function", "hello", "--function-version", "1",
                "--input", '{"name": "you"}', "-f", "json",
            )
        )  # fmt: skip
        self.assertEqual(json.loads(ran["result"])["output"], "Hello, you")
        self.assertIn("in you", self.openstack("function", "execution", "log", "show", ran["id"]))
        self.openstack("function", "download", "hello", "-o", os.path.join(folder, "out.zip"))
        self.assertEqual(zipfile.ZipFile(os.path.join(folder, "out.zip")).namelist(), ["hello.py"])
        with open(path, "a") as file:
            file.write("# changed\n")
        self.openstack("function", "update", "hello", "--file", path)
        listed = json.loads(self.openstack("function", "list", "-f", "json"))
        self.assertEqual([(one["Name"], one["Id"]) for one in listed], [("hello", made["id"])])
        self.openstack("function", "alias", "create", "prod", "--function", "hello", "--function-version", "1")
        said = self.openstack("function", "delete", "hello", fails=True)
        self.assertIn("The function is still associated with function alias(es).", said)
        self.openstack("function", "alias", "delete", "prod")
        self.openstack("function", "delete", "hello")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=2)
