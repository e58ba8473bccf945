"""`handler(event, context)`: events in the format that API gateways send to AWS Lambda."""

import base64
import inspect
import time

from . import state
from .encode import JSON, JSON_HEAD, dumps, head
from .reply import answer as flask_answer
from .reply import is_stream
from .response import Response
from .web import utf8

_TEXT = ("text/", "application/json", "application/x-www-form-urlencoded", "application/xml", "application/javascript")


class Context:
    def __init__(self, request):
        facts = request.facts
        self.aws_request_id = facts.get(":id", "")
        self.request_id = self.aws_request_id
        self.function_name = state.function
        self.function_version = state.version
        self.invoked_function_arn = "milepost:%s:%s:%s" % (state.app, state.function, state.version)
        self.memory_limit_in_mb = 0
        self.log_group_name = state.app
        self.log_stream_name = state.function
        self.identity = None
        self.client_context = None
        deadline = facts.get(":deadline", "")
        self._until = time.monotonic() + (int(deadline) / 1000 if deadline.isdigit() else 60.0)

    def get_remaining_time_in_millis(self):
        return max(0, int((self._until - time.monotonic()) * 1000))


def event(request):
    path, query = request._target
    facts = request.facts
    headers, repeated = {}, {}
    for name, value in request.headers._pairs:
        if name in headers:
            headers[name] += "," + value
            repeated[name].append(value)
        else:
            headers[name] = value
            repeated[name] = [value]
    body, encoded = _body(request)
    now = time.time()
    route = utf8(facts.get(":route", ""))
    return {
        "version": "2.0",
        "routeKey": "%s %s" % (request.method, route) if route else "$default",
        "rawPath": path,
        "rawQueryString": query,
        "cookies": [part.strip() for part in headers.get("cookie", "").split(";") if part.strip()],
        "headers": headers,
        "multiValueHeaders": repeated,
        "queryStringParameters": {name: ",".join(values) for name, values in request.args.lists()},
        "multiValueQueryStringParameters": dict(request.args.lists()),
        "pathParameters": request.view_args,
        "stageVariables": None,
        "httpMethod": request.method,
        "path": request.path,
        "resource": route or request.path,
        "requestContext": {
            "accountId": state.app,
            "apiId": state.app,
            "requestId": facts.get(":id", ""),
            "stage": facts.get(":release", "$default"),
            "httpMethod": request.method,
            "path": request.path,
            "domainName": request.host,
            "timeEpoch": int(now * 1000),
            "http": {
                "method": request.method,
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": facts.get(":client", ""),
                "userAgent": headers.get("user-agent", ""),
            },
            "identity": {"sourceIp": facts.get(":client", ""), "userAgent": headers.get("user-agent", "")},
        },
        "body": body,
        "isBase64Encoded": encoded,
    }


def _body(request):
    data = request.get_data()
    if not data:
        return None, False
    kind = request.mimetype
    if not kind or kind.startswith(_TEXT) or kind.endswith(("+json", "+xml")):
        try:
            return data.decode("utf-8"), False
        except UnicodeDecodeError:
            pass
    return base64.b64encode(data).decode("ascii"), True


def bind(function):
    parameters = inspect.signature(function).parameters.values()
    both = len([p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]) > 1

    def arguments(request):
        return ((event(request), Context(request)) if both else (event(request),)), {}

    return arguments


def answer(result, request=None):
    if isinstance(result, Response) or is_stream(result) or hasattr(result, "get_wsgi_headers"):
        return flask_answer(result, request)
    if not (isinstance(result, dict) and "statusCode" in result):
        return JSON_HEAD, dumps(result).encode("utf-8")
    pairs, named = [], set()
    for name, values in (result.get("multiValueHeaders") or {}).items():
        named.add(name.lower())
        pairs.extend((name, value) for value in values)
    for name, value in (result.get("headers") or {}).items():
        if name.lower() in named:
            continue
        if isinstance(value, bool):
            value = "true" if value else "false"
        pairs.extend((name, one) for one in (value if isinstance(value, (list, tuple)) else [value]))
    pairs.extend(("set-cookie", cookie) for cookie in result.get("cookies") or ())
    body = result.get("body")
    if body is None:
        body = b""
    elif isinstance(body, str):
        body = base64.b64decode(body) if result.get("isBase64Encoded") else body.encode("utf-8")
    elif not isinstance(body, bytes):
        body = dumps(body).encode("utf-8")
    if body and not any(name.lower() == "content-type" for name, _ in pairs):
        pairs.append(("content-type", JSON))
    return head(int(result["statusCode"]), pairs), body
