"""Answers of the layers before the application."""

from __future__ import annotations

from collections.abc import Sequence

from litestar.types import HTTPResponseStartEvent, HTTPScope, Send

from fencepost.web.auth.reading import wants_page
from fencepost.web.dashboard.faults import problem_page
from fencepost.web.problems import MEDIA_TYPE, Problem

HTML = "text/html; charset=utf-8"


async def send_problem(scope: HTTPScope, send: Send, problem: Problem) -> None:
    """The problem as a whole answer, as a page for a browser; the connection is closed, because its request
    may not have been read."""
    if wants_page(scope):
        await _send_refusal(send, problem, problem_page(scope, problem).encode(), HTML)
    else:
        await send_plain_problem(send, problem)


async def send_plain_problem(send: Send, problem: Problem) -> None:
    """The same without a page: one costs fifty times as much."""
    await _send_refusal(send, problem, problem.body, MEDIA_TYPE)


async def send_page(send: Send, text: str, status: int = 200, *cookies: str) -> None:
    """A page as a whole answer."""
    await _send(send, status, text.encode(), {"content-type": HTML}, cookies)


async def send_redirect(send: Send, path: str, *cookies: str) -> None:
    """Go on there with a GET."""
    await _send(send, 303, b"", {"location": path}, cookies)


async def _send_refusal(send: Send, problem: Problem, body: bytes, kind: str) -> None:
    about = {name.lower(): value for name, value in problem.headers.items()}
    await _send(send, problem.kind.status, body, {"content-type": kind, **about})


async def _send(
    send: Send, status: int, body: bytes, about: dict[str, str], cookies: Sequence[str] = ()
) -> None:
    headers = {"content-length": str(len(body)), "connection": "close", **about}
    named = [*headers.items(), *(("set-cookie", one) for one in cookies)]
    start: HTTPResponseStartEvent = {
        "type": "http.response.start",
        "status": status,
        "headers": [(name.encode(), value.encode()) for name, value in named],
    }
    await send(start)
    await send({"type": "http.response.body", "body": body, "more_body": False})
