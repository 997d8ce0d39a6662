"""Operations as routes: who may ask, what was asked, carried out once, answered.

Every operation comes by here, and none has a way of its own: the role that it needs and the namespace of the
caller are checked before anything else of the request. What is not in the caller's namespace does not exist
for the caller, and is answered as not found.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, unquote

import msgspec
from litestar import Request, Response
from litestar.enums import HttpMethod
from litestar.handlers import HTTPRouteHandler
from litestar.status_codes import HTTP_200_OK

from fencepost.errors import UnknownJob
from fencepost.model.access import EVERYWHERE, Principal
from fencepost.model.identifiers import Namespace, checked_name
from fencepost.operations.control import Control
from fencepost.operations.operation import IN_PATH, VERSION_FIELD, Operation
from fencepost.operations.wire import Parts, Refused, etag, from_call
from fencepost.web.counter import Counter
from fencepost.web.idempotency import Idempotency, key_of
from fencepost.web.problems import (
    FORBIDDEN,
    INVALID,
    MALFORMED,
    NOT_FOUND,
    NOT_JSON,
    PRECONDITION,
    SLOW_ANSWER,
    Problem,
    Refusal,
)
from fencepost.web.serving import NAMESPACE_HEADER, Caller, Once, Serving, namespace_of

QUERY_FIELDS_MAX = 50
ANSWER_WITHIN_S = 30.0
JSON = "application/json"
JOB = "job"


def handlers(operations: Iterable[Operation[Any, Any, Any]], serving: Serving) -> list[HTTPRouteHandler]:
    """A route for each operation."""
    repeats = Idempotency(serving.store.answers)
    return [_handler(one, serving, repeats) for one in operations]


def _handler(one: Operation[Any, Any, Any], serving: Serving, repeats: Idempotency) -> HTTPRouteHandler:
    async def answer(request: Request[Any, Any, Any]) -> Response[bytes]:
        caller = admitted(one, request, serving.settings.namespace)
        wanted = read(one, request, await request.body())
        if one.changes:
            key = key_of(request.headers.get("idempotency-key"))
            work = partial(_carry_out, one, serving, caller, wanted)
            return await repeats.once(one, caller, key, wanted, work)
        return await _carry_out(one, serving, caller, wanted, None, request)

    path = IN_PATH.sub(r"{\1:str}", one.path)
    method = HttpMethod(one.method)
    return HTTPRouteHandler(path, http_method=[method], status_code=HTTP_200_OK, name=one.name)(answer)


def admitted(one: Operation[Any, Any, Any], http_request: Request[Any, Any, Any], home: Namespace) -> Caller:
    """The caller; a refusal where it may not ask."""
    principal: Principal = http_request.scope["state"]["principal"]
    if not principal.role.covers(one.role):
        told = f"{one.name} needs the role {one.role}; this credential has {principal.role}"
        raise Refusal(Problem(FORBIDDEN, told))
    if one.whole_fleet and principal.namespace != EVERYWHERE:
        told = f"{one.name} touches every namespace; this credential is good in {principal.namespace} only"
        raise Refusal(Problem(FORBIDDEN, told))
    named = http_request.headers.get(NAMESPACE_HEADER)
    if named is not None:
        checked_name("namespace", named)
    client = http_request.client
    source = f"api from {client.host}" if client is not None else "api"
    return Caller(principal, namespace_of(principal, named, home), source)


def read(one: Operation[Any, Any, Any], http_request: Request[Any, Any, Any], body: bytes) -> Any:
    """The request's value; a refusal where it does not fit."""
    parts = Parts(
        path={name: _decoded(name, http_request.path_params[name]) for name in one.in_path},
        query=_query(http_request),
        if_match=http_request.headers.get("if-match"),
        body=_body(one, http_request, body),
    )
    versioned = VERSION_FIELD in one.request.__struct_fields__
    if parts.if_match is not None and not versioned:
        raise Refusal(_invalid("If-Match", f"{one.name} looks at no version; leave the header out"))
    if parts.if_match is None and versioned:
        told = "send If-Match with the ETag of what you read, so that no other change is lost, or *"
        raise Refusal(Problem(PRECONDITION, told))
    try:
        return from_call(one, parts)
    except Refused as error:
        raise Refusal(_unfit(one, error.name, str(error))) from None
    except msgspec.ValidationError as error:
        said, _, where = str(error).partition(" - at `$.")
        raise Refusal(_unfit(one, where.rstrip("`") or "body", said)) from None


async def _carry_out(
    one: Operation[Any, Any, Any],
    serving: Serving,
    caller: Caller,
    request: Any,
    once: Once | None,
    http_request: Request[Any, Any, Any] | None = None,
) -> Response[bytes]:
    context: Any
    if one.context is Control:
        context = serving.control(caller, getattr(request, "reason", None), once)
        response = await _in_time(one, context, request)
    else:
        assert http_request is not None, "verbs of workers are never repeated by key"
        context = Counter(serving, caller, lambda gone: _watching(http_request, gone))
        response = await one.carry_out(context, request)
    return Response(msgspec.json.encode(response), media_type=JSON, headers=_etag(one, request, response))


def _etag(one: Operation[Any, Any, Any], request: Any, response: Any) -> dict[str, str]:
    """The header that names the version; what a dry run would write has none yet."""
    if one.versioned is None or getattr(request, "dry_run", False):
        return {}
    return {"ETag": etag(getattr(response, one.versioned))}


async def _in_time(one: Operation[Any, Any, Any], control: Control, request: Any) -> Any:
    try:
        async with asyncio.timeout(ANSWER_WITHIN_S):
            return await one.carry_out(control, request)
    except UnknownJob as error:
        if JOB not in one.in_path:
            raise
        raise Refusal(Problem(NOT_FOUND, str(error))) from None
    except TimeoutError:
        known = "; whether it was done, or some of it, is unknown: look" if one.changes else ""
        told = f"{one.name} took longer than {ANSWER_WITHIN_S:g} s{known}; ask for less at a time"
        raise Refusal(Problem(SLOW_ANSWER, told)) from None


def _query(http_request: Request[Any, Any, Any]) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            http_request.scope["query_string"].decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=QUERY_FIELDS_MAX,
        )
    except ValueError:
        told = f"expected at most {QUERY_FIELDS_MAX} parameters of percent-encoded UTF-8"
        raise Refusal(_invalid("query", told)) from None


def _body(one: Operation[Any, Any, Any], http_request: Request[Any, Any, Any], body: bytes) -> dict[str, Any]:
    if not body:
        return {}
    if not one.has_body:
        raise Refusal(_invalid("body", f"a {one.method} takes none; what is asked stands in its query"))
    kind = http_request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
    if kind != JSON:
        raise Refusal(Problem(NOT_JSON, f"expected a body of {JSON}"))
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        deep = isinstance(error, RecursionError)
        told = "is nested deeper than the server reads" if deep else f"is not JSON: {error}"
        raise Refusal(Problem(MALFORMED, f"the body {told}")) from None
    if not isinstance(found, dict):
        raise Refusal(_invalid("body", "expected a JSON object"))
    return found


def _decoded(name: str, segment: str) -> str:
    try:
        found = unquote(segment, errors="strict")
    except UnicodeDecodeError:
        found = "\0"
    if "\0" in found:
        raise Refusal(Problem(NOT_FOUND, f"there is no such {name}"))
    return found


def _unfit(one: Operation[Any, Any, Any], name: str, message: str) -> Problem:
    """A name that no path can hold does not exist."""
    if name in one.in_path:
        return Problem(NOT_FOUND, f"there is no such {name}: {message}")
    return _invalid(name, message)


def _invalid(name: str, message: str) -> Problem:
    return Problem(INVALID, f"{name}: {message}", more={"errors": [{"field": name, "message": message}]})


@asynccontextmanager
async def _watching(http_request: Request[Any, Any, Any], gone: Callable[[], None]) -> AsyncIterator[None]:
    """Call `gone` as soon as the caller has hung up: there is no reason to wait any more."""
    watcher = asyncio.create_task(_until_gone(http_request, gone))
    try:
        yield
    finally:
        watcher.cancel()
        with suppress(asyncio.CancelledError):
            await watcher


async def _until_gone(http_request: Request[Any, Any, Any], gone: Callable[[], None]) -> None:
    while (await http_request.receive())["type"] != "http.disconnect":
        pass
    gone()
