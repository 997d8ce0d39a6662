"""The route of live streams, without a server library between the hub and the socket: a stream that is over
must end also where its reader takes nothing any more."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from urllib.parse import parse_qs

from litestar.handlers import ASGIRouteHandler
from litestar.types import HTTPResponseStartEvent, HTTPScope, Receive, Scope, Send

from fencepost.errors import UsageError
from fencepost.model.access import Principal, Role
from fencepost.model.identifiers import DEFAULT_NAMESPACE, Namespace, RunKey, checked_name
from fencepost.operations.words import RUN_KEY_LENGTH_MAX
from fencepost.web.auth.reading import header
from fencepost.web.live.hub import Hub, TooManyStreams
from fencepost.web.live.listener import Listener
from fencepost.web.live.messages import read_place
from fencepost.web.live.stream import told
from fencepost.web.problems import FORBIDDEN, INVALID, METHOD, TOO_MANY, Problem, Refusal
from fencepost.web.sending import send_problem
from fencepost.web.serving import NAMESPACE_HEADER, namespace_of

PATH = "/events"
LAST_WORD_S = 1.0
COME_AGAIN_S = 30
QUERY_FIELDS_MAX = 10
HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
}


def events_route(hub: Hub, home: Namespace = DEFAULT_NAMESPACE) -> ASGIRouteHandler:
    """`GET /events`, for `EventSource`: `?run=KEY&after=1.17` watches the log of a run too, `?namespace=`
    or the header chooses where the credential is good everywhere."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        await _serve(hub, home, scope, receive, send)  # type: ignore[arg-type]

    return ASGIRouteHandler(PATH, name="events", copy_scope=False)(serve)


async def _serve(hub: Hub, home: Namespace, scope: HTTPScope, receive: Receive, send: Send) -> None:
    if scope["method"] != "GET":
        await send_problem(scope, send, Problem(METHOD, "a stream is read with GET", {"Allow": "GET"}))
        return
    try:
        listener = _join(hub, home, scope)
    except TooManyStreams as error:
        await send_problem(scope, send, Problem(TOO_MANY, str(error), {"Retry-After": str(COME_AGAIN_S)}))
        return
    except Refusal as error:
        await send_problem(scope, send, error.problem)
        return
    except UsageError as error:
        await send_problem(scope, send, Problem(INVALID, str(error)))
        return
    try:
        await _tell(listener, receive, send)
    finally:
        hub.leave(listener)


def _join(hub: Hub, home: Namespace, scope: HTTPScope) -> Listener:
    principal: Principal = scope["state"]["principal"]
    if not principal.role.covers(Role.VIEWER):
        raise Refusal(
            Problem(FORBIDDEN, f"events need the role viewer; this credential has {principal.role}")
        )
    asked = _asked(scope["query_string"])
    named = asked.get("namespace") or header(scope, NAMESPACE_HEADER.encode())
    if named is not None:
        checked_name("namespace", named)
    return hub.join(
        principal,
        namespace_of(principal, named, home),
        resumed=bool(header(scope, b"last-event-id")),
        run_key=RunKey(asked["run"]) if "run" in asked else None,
        place=read_place(asked.get("after", "")),
    )


def _asked(query: bytes) -> dict[str, str]:
    """The options in the query. One query to the store serves all streams, so none of them may be one that a
    store could refuse."""
    try:
        found = parse_qs(query.decode("ascii"), errors="strict", max_num_fields=QUERY_FIELDS_MAX)
    except ValueError:
        raise UsageError(
            f"query: expected at most {QUERY_FIELDS_MAX} values of percent-encoded UTF-8"
        ) from None
    asked = {name: values[-1] for name, values in found.items()}
    if "\0" in asked.get("run", "") or len(asked.get("run", "")) > RUN_KEY_LENGTH_MAX:
        raise UsageError(f"run: expected a run key, of at most {RUN_KEY_LENGTH_MAX} characters without NUL")
    return asked


async def _tell(listener: Listener, receive: Receive, send: Send) -> None:
    """Until the stream is over or its reader has gone, whichever comes first."""
    start: HTTPResponseStartEvent = {
        "type": "http.response.start",
        "status": 200,
        "headers": [(name.encode(), value.encode()) for name, value in HEADERS.items()],
    }
    await send(start)
    sending = asyncio.create_task(_send_all(listener, send))
    tasks = {sending, asyncio.create_task(_gone(receive)), asyncio.create_task(listener.ended.wait())}
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if listener.ended.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_WORD_S):
                    await sending
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _send_all(listener: Listener, send: Send) -> None:
    async for message in told(listener):
        await send({"type": "http.response.body", "body": message, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
