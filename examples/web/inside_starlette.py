"""The dashboard inside Starlette, behind HTTP basic authentication; the jobs run in other processes.
In this folder: `uvicorn inside_starlette:web`, then http://127.0.0.1:8000/ops/fencepost/ as anna or ben."""

from base64 import b64decode
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.routing import Mount

from fencepost import Fencepost
from fencepost.contrib.asgi import User, fencepost_web

ROLES = {"anna": "admin", "ben": "viewer", "cleo": None}


def user_of(scope: Any) -> User:
    kind, _, shown = Headers(scope=scope).get("authorization", "").partition(" ")
    name, _, password = b64decode(shown).decode().partition(":") if kind == "Basic" else ("", "", "")
    if name not in ROLES or password != "only for this example":
        raise HTTPException(401, headers={"WWW-Authenticate": 'Basic realm="shop"'})
    return User(name, ROLES[name])


web = Starlette(routes=[Mount("/ops/fencepost", fencepost_web(Fencepost(), authorize=user_of))])
