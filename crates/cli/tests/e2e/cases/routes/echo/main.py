import milepost
from flask import request


def main():
    return {"method": request.method, "path": request.path, "params": dict(request.view_args or {})}


def outer():
    answer = milepost.call("inner", "/deep?x=1")
    return {"status": answer.status, "release": answer.headers["milepost-release"], "said": answer.json()}
