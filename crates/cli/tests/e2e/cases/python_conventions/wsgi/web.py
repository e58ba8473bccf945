def app(environ, start_response):
    size = int(environ.get("CONTENT_LENGTH") or 0)
    body = environ["wsgi.input"].read(size)
    start_response("203 Fine", [("content-type", "text/plain"), ("x-one", "a"), ("x-one", "b")])
    return [environ["REQUEST_METHOD"].encode(), b" ", environ["QUERY_STRING"].encode(), b" ", body]
