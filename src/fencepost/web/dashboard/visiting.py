"""A request becomes a visit: who looks, in which namespace, what they asked for, where they are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote, urlencode
from zoneinfo import ZoneInfo

import msgspec
from litestar import Request
from msgspec import Struct

from fencepost.errors import InvalidTrigger, NotAllowed, UsageError
from fencepost.model.access import EVERYWHERE, Principal, Role
from fencepost.model.identifiers import DEFAULT_NAMESPACE, Namespace, checked_name
from fencepost.model.quoting import quoted
from fencepost.model.times import parse_local_or_instant, to_instant, to_utc_text
from fencepost.model.views import COUNTED_MAX
from fencepost.triggers.localtime.zones import zone
from fencepost.web.dashboard.actions.forms import takes_many
from fencepost.web.dashboard.page import NoQuery, Page, Visit
from fencepost.web.dashboard.said import NAME as SAID
from fencepost.web.dashboard.said import read_said
from fencepost.web.serving import Caller, Serving, namespace_of

BROWSER_ZONE, ZONE = "fencepost_zone", "fencepost_zone_chosen"
TIMES = frozenset({"since", "until", "at", "expires"})
"""The fields of addresses and forms that hold times."""
THEME = "fencepost_theme"
NAMESPACE = "fencepost_namespace"
THEMES = frozenset({"light", "dark"})
QUERY_FIELDS_MAX = 100
QUERY_LENGTH_MAX = 8_000
ADDRESS = "the address"
Q = TypeVar("Q", bound=Struct)


class NotKnown(Exception):
    """Nobody was recognised."""


def caller_of(request: Request[Any, Any, Any], needed: Role, home: Namespace = DEFAULT_NAMESPACE) -> Caller:
    """Who asks, where their role is enough; nobody passes without one."""
    principal = request.scope["state"].get("principal")
    if not isinstance(principal, Principal):
        raise NotKnown
    if not principal.role.covers(needed):
        raise NotAllowed(f"this needs the role {needed}; you are signed in as {principal.role}")
    chosen = _chosen_namespace(request) if principal.namespace == EVERYWHERE else None
    client = request.client
    source = "dashboard" if client is None else f"dashboard from {client.host}"
    return Caller(principal, namespace_of(principal, chosen, home), source)


def _chosen_namespace(request: Request[Any, Any, Any]) -> str | None:
    """What somebody chose to look at; it counts only for those who may look everywhere."""
    try:
        return checked_name("namespace", request.cookies.get(NAMESPACE, ""))
    except UsageError:
        return None


async def visit_of(request: Request[Any, Any, Any], page: Page[Q], serving: Serving) -> Visit[Q]:
    """The visit of a page by its address."""
    caller = caller_of(request, page.role, serving.settings.namespace)
    return await made(
        request,
        caller,
        serving,
        path_of(request, page.in_path),
        read_query(request, page.query, page.posted),
        page.posted,
    )


async def made(
    request: Request[Any, Any, Any],
    caller: Caller,
    serving: Serving,
    path: dict[str, str],
    query: Q,
    secret: Collection[str] = (),
) -> Visit[Q]:
    """A visit of a known user; the secret fields are in no link that leads back."""
    control = serving.control(caller)
    return Visit(
        control=control,
        principal=caller.principal,
        csrf=str(request.scope["state"].get("csrf") or ""),
        path=path,
        query=query,
        attention=await control.store.ledger.attention(control.namespace, COUNTED_MAX),
        zone=zone_of(request),
        url=url_of(request, secret),
        theme=theme_of(request),
        said=read_said(request.cookies.get(SAID)),
        forecasts=serving.forecasts,
    )


async def plain_visit(request: Request[Any, Any, Any], needed: Role, serving: Serving) -> Visit[NoQuery]:
    """A visit of what is no page of its own, such as a question before a change."""
    caller = caller_of(request, needed, serving.settings.namespace)
    return await made(request, caller, serving, {}, NoQuery())


def path_of(request: Request[Any, Any, Any], names: tuple[str, ...]) -> dict[str, str]:
    """The values in the path, decoded."""
    try:
        found = {name: unquote(str(request.path_params[name]), errors="strict") for name in names}
    except UnicodeDecodeError:
        raise UsageError("the address: expected percent-encoded UTF-8") from None
    _check_plain(found.values())
    return found


def read_query(request: Request[Any, Any, Any], kind: type[Q], not_taken: Collection[str] = ()) -> Q:
    """What is chosen in the address, but for the names that are not taken from one."""
    raw = request.scope["query_string"]
    if len(raw) > QUERY_LENGTH_MAX:
        raise UsageError(f"the address: expected at most {QUERY_LENGTH_MAX} characters behind the ?")
    try:
        pairs = parse_qsl(raw.decode("ascii"), errors="strict", max_num_fields=QUERY_FIELDS_MAX)
    except ValueError:
        raise UsageError(f"the address: expected at most {QUERY_FIELDS_MAX} values of UTF-8") from None
    place = zone_of(request)
    taken = [(name, in_zone(name, text, place)) for name, text in pairs if name not in not_taken]
    return chosen(taken, kind, ADDRESS)


def chosen(pairs: Sequence[tuple[str, str]], kind: type[Q], where: str) -> Q:
    """What is chosen, by the types of the struct. A name that it does not know changes nothing."""
    _check_plain((text for _, text in pairs), where)
    fields = {one.encode_name: one.type for one in msgspec.structs.fields(kind)}
    values: dict[str, Any] = {}
    for name, text in pairs:
        if name in fields:
            several = takes_many(fields[name])
            values[name] = [*values.get(name, []), text] if several else text
    try:
        return msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"{where}: {error}") from None


def _check_plain(texts: Iterable[str], where: str = ADDRESS) -> None:
    """No store has a place for a NUL, and no name of ours has one."""
    if any("\0" in text for text in texts):
        raise UsageError(f"{where}: holds a NUL, which is in nothing that could be found")


def zone_of(request: Request[Any, Any, Any]) -> ZoneInfo:
    """The zone that the reader has chosen, else the one that the script found in the browser; UTC where there
    is neither, or where it is unknown."""
    for cookie in (ZONE, BROWSER_ZONE):
        if given := request.cookies.get(cookie):
            try:
                return zone(unquote(given))
            except InvalidTrigger:
                continue
    return zone("UTC")


def in_zone(name: str, text: str, place: ZoneInfo) -> str:
    """The text of a field; a time without an offset is one of the reader's zone, and gets its offset."""
    if name not in TIMES:
        return text
    try:
        moment = parse_local_or_instant(text.strip())
        if moment.tzinfo is not None:
            return text
        instant = to_instant(moment, place)
        offset = instant.astimezone(place).utcoffset() or timedelta()
        whole = offset % timedelta(minutes=1) == timedelta()
        return instant.astimezone(place).isoformat() if whole else to_utc_text(instant)
    except (UsageError, OverflowError, ValueError):
        return text


def theme_of(request: Request[Any, Any, Any]) -> str:
    """Light or dark where somebody has chosen, else as their system has it."""
    chosen = request.cookies.get(THEME, "")
    return chosen if chosen in THEMES else "auto"


def url_of(request: Request[Any, Any, Any], left_out: Collection[str] = ()) -> str:
    """The path and the query, as a link that leads back here, without the fields that are left out."""
    path, query = str(request.scope["path"]), request.scope["query_string"].decode("ascii", "replace")
    if left_out:
        pairs = parse_qsl(query, keep_blank_values=True)
        query = urlencode([(name, text) for name, text in pairs if name not in left_out])
    return f"{path}?{query}" if query else path


def said_of_path(path: str) -> str:
    """A path in a sentence."""
    return quoted(path[:200])
