"""A page whose query comes by a form: what may be secret is in the body, and so in no address, no history of
a browser and no log of a proxy. Like any page it changes nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from litestar import Request
from msgspec import Struct

from fencepost.errors import UsageError
from fencepost.web.dashboard.actions.doing import check_forgery
from fencepost.web.dashboard.actions.forms import read_form
from fencepost.web.dashboard.page import Page, Visit
from fencepost.web.dashboard.visiting import QUERY_FIELDS_MAX, caller_of, chosen, made, path_of
from fencepost.web.serving import Serving

FORM = "the form"
Q = TypeVar("Q", bound=Struct)


async def posted_visit(request: Request[Any, Any, Any], page: Page[Q], serving: Serving) -> Visit[Q]:
    """The visit of a page by a form, which has to be ours."""
    caller = caller_of(request, page.role, serving.settings.namespace)
    form = read_form(await request.body())
    check_forgery(request, caller, form)
    query = chosen(_pairs(form), page.query, FORM)
    visit = await made(request, caller, serving, path_of(request, page.in_path), query, page.posted)
    return replace(visit, posted=True)


def _pairs(form: dict[str, list[str]]) -> list[tuple[str, str]]:
    """The fields as an address would give them: no empty ones, and the line breaks as they were typed."""
    pairs = [(name, text.replace("\r\n", "\n")) for name, texts in form.items() for text in texts if text]
    if len(pairs) > QUERY_FIELDS_MAX:
        raise UsageError(f"{FORM}: expected at most {QUERY_FIELDS_MAX} values")
    return pairs
