"""Problems: every answer that is not a success, as `application/problem+json` (RFC 9457).

Programs may rely on the last word of `type`; `detail` is for people. An unexpected error is answered with an
id and nothing else: the log has the rest under that id.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import field
from typing import Any
from uuid import uuid4

import msgspec
from litestar import Request, Response
from litestar.exceptions import (
    ClientException,
    HTTPException,
    MethodNotAllowedException,
    NotFoundException,
)

from fencepost.errors import (
    CalendarChanged,
    NotAllowed,
    QuotaExceeded,
    RunLost,
    ScheduleChanged,
    ScheduleExists,
    StoreUnavailable,
    TurnedAway,
    UnknownBackfill,
    UnknownCalendar,
    UnknownGate,
    UnknownJob,
    UnknownNode,
    UnknownRun,
    UnknownSchedule,
    UnknownTarget,
    UnknownToken,
    UsageError,
)
from fencepost.model.dataclasses import dataclass
from fencepost.telemetry.logs import FIELDS, ROOT

MEDIA_TYPE = "application/problem+json"
TYPES = "urn:fencepost:problem:"
STORE_AWAY_S = 1
TURNED_AWAY_S = 5
UNKNOWN = (
    "whether the call was carried out is unknown; repeat a change with the same Idempotency-Key, or without "
    "one look first whether it was done; a question, and a call of a worker, is safe to repeat as it is"
)
READING = "deserializing"
"""How the decoder says that a body, and not a bug of ours, went too deep."""


@dataclass(frozen=True)
class Kind:
    """One sort of problem: what a program sees of it, and when it comes."""

    name: str
    status: int
    title: str
    when: str


MALFORMED = Kind(
    "malformed", 400, "Malformed request", "the body is not JSON, or is nested deeper than the server reads"
)
UNAUTHORIZED = Kind("unauthorized", 401, "No credential", "the token is missing, wrong, expired or revoked")
FORBIDDEN = Kind("forbidden", 403, "Not allowed", "the credential's role or namespace is not enough")
NOT_FOUND = Kind("not-found", 404, "Not found", "there is nothing of that name for this credential")
METHOD = Kind("method-not-allowed", 405, "Method not allowed", "the path is there, but not for this method")
SLOW = Kind("request-timeout", 408, "Request timeout", "the body took too long to arrive")
RUN_LOST = Kind(
    "run-lost", 409, "Run lost", "the attempt does not own the run any more: stop, and report nothing"
)
CONFLICT = Kind("conflict", 409, "Conflict", "there is something of that name already")
KEY_PENDING = Kind(
    "key-pending", 409, "Still at it", "the first call with this `Idempotency-Key` has no answer yet"
)
CHANGED = Kind("changed", 412, "Changed meanwhile", "`If-Match` names a version that is not the last one")
TOO_LARGE = Kind("too-large", 413, "Too large", "the body is larger than the server reads")
NOT_JSON = Kind("not-json", 415, "Not JSON", "the body is of another media type")
INVALID = Kind("invalid", 422, "Invalid request", "a parameter or the body does not fit the schema")
REFUSED = Kind("refused", 422, "Refused", "the request is well-formed, and cannot be carried out as it is")
KEY_MISUSED = Kind("key-misused", 422, "Key misused", "the `Idempotency-Key` was used for something else")
UNKNOWN_JOB = Kind("unknown-job", 422, "Unknown job", "a job is not registered, or is not external")
PRECONDITION = Kind("precondition-required", 428, "Precondition required", "`If-Match` is missing")
TOO_MANY = Kind("too-many-requests", 429, "Too many requests", "the credential or the address asks too often")
QUOTA = Kind("quota-exceeded", 429, "Quota exceeded", "the namespace asks for more than `quota` allows")
UNEXPECTED = Kind("unexpected", 500, "Unexpected error", "a bug: the log has it under the id")
TURNED_AWAY = Kind("turned-away", 503, "Turned away", "too many wait, or the server is stopping")
STORE_AWAY = Kind(
    "store-unavailable", 503, "Store unavailable", "whether the call was carried out is unknown"
)
SLOW_ANSWER = Kind("too-slow", 503, "Too slow", "the answer would take longer than the server works on one")
KINDS = (
    *(MALFORMED, UNAUTHORIZED, FORBIDDEN, NOT_FOUND, METHOD, SLOW, RUN_LOST, CONFLICT, KEY_PENDING, CHANGED),
    *(TOO_LARGE, NOT_JSON, INVALID, REFUSED, UNKNOWN_JOB, KEY_MISUSED, PRECONDITION, TOO_MANY, QUOTA),
    *(UNEXPECTED, TURNED_AWAY, STORE_AWAY, SLOW_ANSWER),
)


@dataclass(frozen=True)
class Problem:
    """One answer."""

    kind: Kind
    detail: str
    headers: Mapping[str, str] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def body(self) -> bytes:
        kind = self.kind
        words = {"type": f"{TYPES}{kind.name}", "title": kind.title, "status": kind.status}
        return msgspec.json.encode({**words, "detail": self.detail, **self.more})


class Refusal(Exception):
    """A request that is answered with a problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


def answer(problem: Problem) -> Response[bytes]:
    """The problem as an answer of the application."""
    return Response(
        problem.body,
        status_code=problem.kind.status,
        media_type=MEDIA_TYPE,
        headers=dict(problem.headers),
    )


def of_exception(error: Exception) -> Problem:
    """The caller's answer for an error."""
    match error:
        case Refusal():
            return error.problem
        case RunLost():
            return Problem(RUN_LOST, str(error))
        case UnknownJob():
            return Problem(UNKNOWN_JOB, str(error))
        case QuotaExceeded():
            in_s = {} if error.retry_in_s is None else {"Retry-After": str(error.retry_in_s)}
            return Problem(QUOTA, str(error), in_s, more={"quota": error.quota})
        case UsageError():
            return Problem(_kind_of(error), str(error))
        case TurnedAway():
            return Problem(TURNED_AWAY, str(error), {"Retry-After": str(TURNED_AWAY_S)})
        case StoreUnavailable():
            return store_away()
        case RecursionError() if READING in str(error):
            return Problem(MALFORMED, "the body is nested deeper than the server reads")
        case HTTPException():
            return _of_litestar(error)
    return unexpected(error)


def _kind_of(error: UsageError) -> Kind:
    match error:
        case UnknownRun() | UnknownSchedule() | UnknownCalendar() | UnknownBackfill() | UnknownToken():
            return NOT_FOUND
        case UnknownNode() | UnknownGate() | UnknownTarget():
            return NOT_FOUND
        case ScheduleExists():
            return CONFLICT
        case NotAllowed():
            return FORBIDDEN
        case ScheduleChanged() | CalendarChanged():
            return CHANGED
    return REFUSED


def store_away() -> Problem:
    """The store's own message may hold an address; it stays in the log."""
    return Problem(STORE_AWAY, f"the store did not answer: {UNKNOWN}", {"Retry-After": str(STORE_AWAY_S)})


def unexpected(error: BaseException) -> Problem:
    """An id for the caller, the traceback for the log."""
    problem_id = uuid4().hex
    logging.getLogger(f"{ROOT}.web").error(
        "unexpected error", exc_info=error, extra={FIELDS: {"problem_id": problem_id}}
    )
    return Problem(UNEXPECTED, f"the log has it as {problem_id}", more={"problem_id": problem_id})


def handle(_: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """The application's one handler of exceptions."""
    if isinstance(error, StoreUnavailable):
        logging.getLogger(f"{ROOT}.web").warning("store unavailable", extra={FIELDS: {"error": str(error)}})
    return answer(of_exception(error))


def _of_litestar(error: HTTPException) -> Problem:
    match error:
        case NotFoundException():
            return Problem(NOT_FOUND, "there is nothing at this path")
        case MethodNotAllowedException():
            return Problem(METHOD, "this path has other methods", dict(error.headers or {}))
        case ClientException(status_code=400):
            return Problem(MALFORMED, f"the body is not JSON: {error.detail}")
    return unexpected(error)
