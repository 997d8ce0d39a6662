"""The dashboard inside FastAPI, behind its own sign-in. In this folder, with `pip install itsdangerous`:
`uvicorn inside_fastapi:web`, then http://127.0.0.1:8000/ops/fencepost/ and sign in as anna, ben or cleo."""

import os
from typing import Any
from urllib.parse import parse_qs

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.middleware.sessions import SessionMiddleware

from fencepost import Every, Fencepost, Run
from fencepost.contrib.asgi import User, fencepost_web
from fencepost.contrib.fastapi import lifespan

ROLES = {"anna": "admin", "ben": "viewer", "cleo": None}  # yours are in a database

jobs = Fencepost()


@jobs.job(schedule=Every("1h"))
def tidy(run: Run) -> None:
    """Once an hour in the whole fleet."""


def user_of(scope: Any) -> User | None:
    name = scope["session"].get("user")
    return User(name, ROLES[name]) if name in ROLES else None


ops = fencepost_web(jobs, authorize=user_of, sign_in="/login")
web = FastAPI(lifespan=lifespan(jobs, within=ops.lifespan))
web.add_middleware(SessionMiddleware, secret_key=os.environ.get("SHOP_SECRET", "only for this example"))
web.mount("/ops/fencepost", ops)


@web.get("/login")
def login() -> HTMLResponse:
    return HTMLResponse(
        '<form method="post"><input name="user" aria-label="Name"><button>Sign in</button></form>'
    )


@web.post("/login")
async def signed_in(request: Request, next: str = "/") -> RedirectResponse:
    """A real one asks for a password."""
    request.session["user"] = parse_qs((await request.body()).decode()).get("user", [""])[0]
    is_local = next.startswith("/") and not next.startswith(("//", "/\\"))
    return RedirectResponse(next if is_local else "/", 303)
