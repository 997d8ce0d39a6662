"""What goes wrong, as a page: what happened, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from litestar import Request, Response
from litestar.exceptions import HTTPException, MethodNotAllowedException, NotFoundException
from litestar.types import Scope

from fencepost.errors import (
    NotAllowed,
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
from fencepost.model.access import Principal
from fencepost.model.dataclasses import dataclass
from fencepost.web.auth.reading import wants_page
from fencepost.web.auth.redirects import asked_path
from fencepost.web.dashboard.rendering import render_alone
from fencepost.web.dashboard.visiting import NotKnown, said_of_path, theme_of
from fencepost.web.problems import (
    STORE_AWAY,
    TOO_MANY,
    TURNED_AWAY,
    UNEXPECTED,
    Problem,
    Refusal,
    handle,
    unexpected,
)

HTML = "text/html"
PRIVATE = {"Cache-Control": "no-store"}
UNKNOWN = (
    *(UnknownSchedule, UnknownRun, UnknownCalendar, UnknownBackfill, UnknownJob),
    *(UnknownGate, UnknownNode, UnknownTarget, UnknownToken),
)
TRY_AGAIN_S = "2"


@dataclass(frozen=True)
class Fault:
    """One page of it: the status, the heading, what happened, and the mend with a link to it."""

    status: int
    heading: str
    told: str
    remedy: str
    href: str = "/"
    link: str = "To the overview"


def fault_page(request: Request[Any, Any, Any], error: Exception) -> Response[str]:
    """The page for an error; what we did not expect is an id, and the log has the rest."""
    fault = fault_of(request, error)
    known = isinstance(request.scope["state"].get("principal"), Principal)
    text = render_alone("fault.html", fault.heading, theme_of(request), fault=fault, known=known)
    more: Mapping[str, str] = {"Retry-After": TRY_AGAIN_S} if fault.status == 503 else {}
    return Response(text, status_code=fault.status, media_type=HTML, headers={**PRIVATE, **more})


def handle_any(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    """For the whole application: a page for whoever looks with a browser, a problem for everybody else."""
    return fault_page(request, error) if wants_page(request.scope) else handle(request, error)


def problem_page(scope: Scope, problem: Problem) -> str:
    """The page for what the layers before the application refuse."""
    fault = _of_problem(problem, scope)
    return render_alone("fault.html", fault.heading, fault=fault, known=False)


def fault_of(request: Request[Any, Any, Any], error: Exception) -> Fault:
    """What whoever looks is told."""
    here = str(request.scope["path"])
    if isinstance(error, UNKNOWN):
        return _not_found(str(error))
    match error:
        case NotKnown():
            told = "This page is only for those who have signed in."
            return Fault(401, "Sign in", told, "Sign in with a token or a link.", "/sign-in", "Sign in")
        case NotAllowed():
            remedy = "Ask an administrator for a token with that role."
            return Fault(403, "Not for this role", _sentence(str(error)), remedy)
        case NotFoundException():
            return _not_found(f"There is no page at {said_of_path(here)}.")
        case MethodNotAllowedException():
            return Fault(405, "Not this way", "This address takes forms only.", "Go back and use the form.")
        case UsageError():
            return Fault(
                400,
                "That does not fit",
                str(error),
                "Go back and mend it, or begin again.",
                here,
                "Begin again",
            )
        case StoreUnavailable() | TurnedAway():
            return _for_now(error, request.scope)
        case Refusal():
            return _of_problem(error.problem, request.scope)
        case HTTPException(status_code=status) if status < 500:
            return Fault(status, "That does not fit", str(error.detail), "Go back and try it another way.")
    return _broken(unexpected(error))


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _of_problem(problem: Problem, scope: Scope) -> Fault:
    kind = problem.kind
    if kind is STORE_AWAY:
        return _for_now(StoreUnavailable(problem.detail), scope)
    if kind is TURNED_AWAY:
        return _for_now(TurnedAway(problem.detail), scope)
    if kind is UNEXPECTED:
        return _broken(problem)
    if kind is TOO_MANY:
        return _later(Fault(kind.status, kind.title, _sentence(problem.detail), ""), scope)
    return Fault(kind.status, kind.title, _sentence(problem.detail), "Go back and try it another way.")


def _broken(problem: Problem) -> Fault:
    told = f"This is a bug: {problem.detail}."
    return Fault(500, "Something broke here", told, "Try again, and tell whoever runs this.")


def _for_now(error: StoreUnavailable | TurnedAway, scope: Scope) -> Fault:
    heading, told = "The store is away", "The store did not answer, so nothing can be shown."
    if isinstance(error, TurnedAway):
        heading, told = "Turned away for now", _sentence(str(error))
    return _later(Fault(503, heading, f"{told} Runs that have begun go on meanwhile.", ""), scope)


def _later(fault: Fault, scope: Any) -> Fault:
    """What goes by itself: the same page again, or the form that was sent."""
    if scope["method"] == "POST":
        return replace(
            fault, remedy="Go back in a moment, look whether it was done, and send it again if not."
        )
    return replace(fault, remedy="Try again in a moment.", href=asked_path(scope), link="Try again")


def _not_found(told: str) -> Fault:
    remedy = "It may be in another namespace, have another name, or be gone."
    return Fault(404, "Not found", told, remedy, "/schedules", "To the schedules")
