"""`POST /do/{operation}`: a form is read, asked about where need be, carried out, and leads back to a page.

The role, the namespace and the author are those of whoever is signed in. A form of another site cannot know
the token against forgery that ours carry, and is refused. Where to go afterwards is a path of this house, or
home.
"""

from __future__ import annotations

import asyncio
import hmac
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import msgspec
from litestar import Request, Response
from litestar.exceptions import NotFoundException

from fencepost.errors import NotAllowed, StoreUnavailable, TurnedAway, UsageError
from fencepost.model.access import EVERYWHERE, Came
from fencepost.operations.operation import Operation
from fencepost.web.dashboard.actions.asking import QUESTIONS
from fencepost.web.dashboard.actions.forms import read_form, to_request
from fencepost.web.dashboard.actions.operations import operation_named
from fencepost.web.dashboard.actions.telling import told
from fencepost.web.dashboard.faults import HTML, PRIVATE
from fencepost.web.dashboard.links import HOME, is_local
from fencepost.web.dashboard.rendering import render
from fencepost.web.dashboard.said import Envelope, Said
from fencepost.web.dashboard.visiting import caller_of, in_zone, plain_visit, zone_of
from fencepost.web.problems import FORBIDDEN, Problem, Refusal
from fencepost.web.serving import Caller, Serving

CSRF, BACK, STAY, CONFIRMED, CLEAR = "csrf", "back", "stay", "confirmed", "clear"
OURS = frozenset({CSRF, BACK, STAY, CONFIRMED, CLEAR})
FILLED = re.compile(r"\{(\w+)\}")
WITHIN_S = 30.0
AWAY = "The store did not answer: whether it was done is unknown. Look first, then try again."
SLOW = "It took too long and was given up: whether it was done is unknown. Look first, then try again."
SHOWN_MAX = 20
LINKS = "links.open"
SECRETS = ("token", "link")
"""The fields of an answer that are secrets."""


async def do(request: Request[Any, Any, Any], serving: Serving) -> Response[str]:
    """Carry out what a form asks for."""
    one = operation_named(str(request.path_params["operation"]))
    if one is None:
        raise NotFoundException
    caller = caller_of(request, one.role, serving.settings.namespace)
    form = read_form(await request.body())
    check_forgery(request, caller, form)
    if one.whole_fleet and caller.principal.namespace != EVERYWHERE:
        raise NotAllowed(f"{one.name} touches every namespace; you are signed in to {caller.namespace} only")
    if one.name == LINKS and caller.principal.came is Came.HOST:
        raise NotAllowed("people sign in at the application that this is a part of; there are no links")
    if one.name in QUESTIONS and _last(form, CONFIRMED) != "yes":
        return await _question(request, serving, one, form)
    place_of_reader = zone_of(request)
    timed = {name: [in_zone(name, text, place_of_reader) for text in texts] for name, texts in form.items()}
    said, response = await _carried_out(serving, caller, one, timed)
    if one.secret and response is not None:
        return await _made(request, serving, one, response, place(form, BACK))
    path = place(form, STAY if said.refused and _last(form, STAY) else BACK)
    envelope = Envelope(secure=request.scope["scheme"] == "https")
    headers = {**PRIVATE, "Location": path}
    return Response("", status_code=303, media_type=HTML, headers=headers, cookies=[envelope.carry(said)])


async def _carried_out(
    serving: Serving, caller: Caller, one: Operation[Any, Any, Any], form: Mapping[str, list[str]]
) -> tuple[Said, Any]:
    """What is said of it, and the answer where there is one; what was refused changes nothing."""
    try:
        fields = {name: texts for name, texts in form.items() if name not in OURS}
        request = to_request(fields, one.request, form.get(CLEAR, ()))
        control = serving.control(caller, getattr(request, "reason", None))
        async with asyncio.timeout(WITHIN_S):
            response = await one.carry_out(control, request)
            return told(one, request, response), response
    except UsageError as error:
        return Said(f"Not done. {error}", refused=True), None
    except TurnedAway as error:
        return Said(f"Not done. {error}; try again in a moment", refused=True), None
    except StoreUnavailable:
        return Said(AWAY, refused=True), None
    except TimeoutError:
        return Said(SLOW, refused=True), None


def check_forgery(request: Request[Any, Any, Any], caller: Caller, form: Mapping[str, list[str]]) -> None:
    """A browser sends its cookie with any form; only ours have the token. A bearer token is sent by nobody
    but its owner."""
    if not caller.principal.has_browser:
        return
    expected = str(request.scope["state"].get("csrf") or "")
    shown = _last(form, CSRF)
    if not expected or not hmac.compare_digest(expected.encode(), shown.encode()):
        told = "the form is not from this session; open the page again and send it from there"
        raise Refusal(Problem(FORBIDDEN, told))


def place(form: Mapping[str, list[str]], name: str) -> str:
    """Where to go: a path of this house with `{fields}` of the form filled in, or home."""
    wanted = _last(form, name) or HOME
    path = FILLED.sub(lambda found: quote(_last(form, found[1]), safe=""), wanted)
    return path if is_local(path) else HOME


async def _made(
    request: Request[Any, Any, Any],
    serving: Serving,
    one: Operation[Any, Any, Any],
    response: Any,
    back: str,
) -> Response[str]:
    """The page that shows a secret, once: it goes into no cookie, no address and no log."""
    visit = await plain_visit(request, one.role, serving)
    fields: dict[str, Any] = msgspec.to_builtins(response)
    secrets = [_handed_over(request, name, fields.pop(name)) for name in SECRETS if name in fields]
    facts = [(name, text) for name, text in fields.items() if text is not None]
    values = {"secrets": secrets, "facts": facts, "back": back}
    text = render("made.html", visit, "Shown once", "", values)
    return Response(text, status_code=200, media_type=HTML, headers=PRIVATE)


def _handed_over(request: Request[Any, Any, Any], name: str, secret: str) -> str:
    """A token as it is; a link as the address that somebody opens."""
    return f"{str(request.base_url).rstrip('/')}/sign-in?link={secret}" if name == "link" else secret


async def _question(
    request: Request[Any, Any, Any],
    serving: Serving,
    one: Operation[Any, Any, Any],
    form: Mapping[str, list[str]],
) -> Response[str]:
    """The page that asks first. It says the same form again, with a yes."""
    visit = await plain_visit(request, one.role, serving)
    fields = [(name, text) for name, texts in form.items() for text in texts if name not in (CSRF, CONFIRMED)]
    summary = one.prose.partition("\n")[0].rstrip(".")
    values = {
        "operation": one.name,
        "summary": summary,
        "means": QUESTIONS[one.name],
        "fields": fields,
        "shown": [pair for pair in fields if pair[0] not in OURS and pair[1].strip()][:SHOWN_MAX],
        "takes_reason": "reason" in one.request.__struct_fields__,
        "back": place(form, STAY if _last(form, STAY) else BACK),
    }
    text = render("question.html", visit, f"{summary}?", "", values)
    return Response(text, status_code=200, media_type=HTML, headers=PRIVATE)


def _last(form: Mapping[str, list[str]], name: str) -> str:
    return (form.get(name) or [""])[-1]
