from flask import request, make_response


def main():
    if request.args.get("fail"):
        raise ValueError("as asked: ä")
    response = make_response(f"hello {request.view_args['name']} from {request.args.get('from', 'nobody')}", 201)
    response.set_cookie("one", "1")
    response.set_cookie("two", "zwei")
    response.headers["x-seen"] = request.headers["x-sent"]
    return response
