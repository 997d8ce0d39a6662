"""Pages that take their query from a form: what may be secret is in no address, and they are as closed as the
rest. A page that takes one later is walked as well."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, quote, urlencode

import pytest
from litestar import Litestar
from litestar.routes import HTTPRoute

from fencepost.model.access import Came, Role
from fencepost.model.identifiers import ScheduleId
from fencepost.services.long_poll import LongPoll
from fencepost.web.dashboard.page import Page, Visit, all_pages, page
from fencepost.web.dashboard.routes import dashboard
from fencepost.web.dashboard.schedule_form import ScheduleForm
from fencepost.web.dashboard.visiting import QUERY_FIELDS_MAX, QUERY_LENGTH_MAX
from fencepost.web.serving import Serving
from tests.services.house import NS, House
from tests.web.attacks.stage import PARAMETER
from tests.web.dashboard.furnished import HOSTILE, furnished
from tests.web.dashboard.house import CSRF, Dashboard, somebody, words_of
from tests.web.dashboard.reading import faults, form_fields, parsed
from tests.web.dashboard.test_pages import address
from tests.web.house import ask

CANARY = "canary-in-a-payload"
PAYLOAD = f'{{"region": "{CANARY}"}}'
NEW = "/new-schedule"
EDIT = "/schedules/minutely/edit"
FRESH = {"schedule_id": "fresh", "job": "report", "when": "every 5m", "overlap": "skip", "mode": "none"}
EDITED = {"job": "report", "when": "every 2m", "overlap": "skip", "mode": "none", "version": "2"}
POSTED = [(one, path) for one in all_pages() if one.posted and (path := address(one)) is not None]
of_posted = pytest.mark.parametrize(("page", "path"), POSTED, ids=[one.path for one, _ in POSTED])


def with_fields(path: str, fields: dict[str, str]) -> str:
    return f"{path}?{urlencode(fields)}"


def values(text: str) -> dict[str, str]:
    """What stands in the fields of the first form of the page itself."""
    found = parsed(text).elements
    start = next(at for at, one in enumerate(found) if one.attributes.get("aria-label") == "The schedule")
    values, choice = {}, ""
    for one in found[start:]:
        if one.name == "input" and "name" in one.attributes:
            values[one.attributes["name"]] = one.attributes.get("value", "")
        elif one.name == "select":
            choice = one.attributes["name"]
            values[choice] = ""
        elif one.name == "option" and "selected" in one.attributes:
            values[choice] = one.attributes["value"]
    return values


def post_routes(house: House) -> Iterator[str]:
    """Every path of the dashboard that takes a form, with something for each name in it."""
    routes = Litestar(dashboard(Serving(house.store, house.settings, LongPoll())), openapi_config=None)
    for route in routes.routes:
        if isinstance(route, HTTPRoute) and "POST" in route.methods:
            yield PARAMETER.sub("schedules.pause", route.path_format)


def test_the_walk_meets_every_page_that_takes_a_form() -> None:
    paths = set(post_routes(House()))
    assert {PARAMETER.sub("schedules.pause", one.path) for one, _ in POSTED} < paths
    assert {"/do/schedules.pause", "/namespace"} < paths
    assert [one.path for one in all_pages() if one.posted] == [one.path for one, _ in POSTED] != []


async def test_no_form_of_another_making_reaches_a_page() -> None:
    board = Dashboard(await furnished(), somebody())
    paths = list(post_routes(board.house))
    board.house.store.calls.clear()
    for path in paths:
        for wrong in (None, "", CSRF[:-1], CSRF.upper()):
            answer = await board.send(path, wrong, schedule_id="minutely", confirmed="yes")
            assert answer.status == 403, (path, wrong)
            assert "not from this session" in words_of(answer.content.decode())
        answer = await board.send(f"{path}?csrf={CSRF}", None)
        assert answer.status == 403, f"{path}: the address does not carry it"
    assert board.house.store.names() == []


@of_posted
@pytest.mark.parametrize("role", Role)
async def test_a_posted_page_asks_for_its_role(page: Page[Any], path: str, role: Role) -> None:
    board = Dashboard(await furnished(), somebody(role))
    if role.covers(page.role):
        assert faults(await board.posted(path)) == []
    else:
        board.house.store.calls.clear()
        assert f"needs the role {page.role}" in words_of(await board.posted(path, 403))
        assert board.house.store.names() == []


@of_posted
async def test_nobody_posts_to_a_page_without_being_known(page: Page[Any], path: str) -> None:
    await Dashboard(await furnished(), None).posted(path, 401)


@of_posted
async def test_a_posted_page_shows_nothing_of_another_namespace(page: Page[Any], path: str) -> None:
    board = Dashboard(await furnished(), somebody(namespace="other"))
    text = await board.posted(path, 404 if page.in_path else 200)
    assert HOSTILE[:8] not in words_of(text)


@of_posted
async def test_a_program_with_a_token_needs_no_secret_of_a_session(page: Page[Any], path: str) -> None:
    who = somebody()
    board = Dashboard(await furnished(), type(who)(who.name, who.role, who.namespace, Came.TOKEN, "t1"))
    await board.posted(path, csrf=None)


@of_posted
async def test_what_is_posted_is_not_taken_from_an_address_nor_said_again(page: Page[Any], path: str) -> None:
    board = Dashboard(await furnished(), somebody())
    for name in page.posted:
        secret = urlencode({name: PAYLOAD})
        assert CANARY not in await board.page(f"{path}&{secret}")
        assert CANARY not in (await board.send(f"{path}&{secret}")).content.decode()
        assert CANARY in await board.posted(f"{path}&{secret}"), "else this would say nothing"


@of_posted
async def test_a_form_out_of_bounds_is_refused_as_an_address_is(page: Page[Any], path: str) -> None:
    board = Dashboard(await furnished(), somebody())
    place = path.partition("?")[0]
    assert (await board.send(place, job=["x"] * (QUERY_FIELDS_MAX + 1))).status == 400
    assert (await board.send(place, job="x" * 5_000)).status == 400
    assert (await board.send(place, job="a\0b")).status == 400
    not_utf8 = b"csrf=" + CSRF.encode() + b"&job=%ff"
    kind = {"content-type": "application/x-www-form-urlencoded"}
    assert (await ask(board.app, "POST", place, not_utf8, None, headers=kind)).status == 400


def test_a_page_says_of_its_own_fields_only_that_they_are_posted() -> None:
    async def gather(visit: Visit[ScheduleForm]) -> dict[str, Any]:
        return {}

    about: dict[str, Any] = {"title": "x", "template": "x", "section": "x", "query": ScheduleForm}
    assert page("/x", Role.VIEWER, **about, posted=("payload",))(gather).posted == ("payload",)
    with pytest.raises(AssertionError, match="query"):
        page("/x", Role.VIEWER, **about, posted=("paylod",))


async def test_a_preview_writes_nothing_and_its_payload_is_saved(board: Dashboard) -> None:
    text = await board.posted(with_fields(NEW, {**FRESH, "payload": PAYLOAD}))
    assert "Next ticks" in text
    assert await board.house.memory.schedules.get(NS, ScheduleId("fresh")) is None
    fields = form_fields(text, "/do/schedules.add")
    assert CANARY not in str(fields["stay"])
    answer = await board.do("schedules.add", **fields)
    assert answer.headers["location"] == "/schedules/fresh"
    made = await board.house.memory.schedules.get(NS, ScheduleId("fresh"))
    assert made is not None
    assert made.spec.payload == {"region": CANARY}


@pytest.mark.parametrize("when", ["every 15m", "every 1 month", "30 2 * * *", "at 2026-12-24T18:00:00Z"])
async def test_what_the_form_proposes_fits_what_it_begins_with(board: Dashboard, when: str) -> None:
    """A zone that nobody chose would be refused with an exact interval."""
    begun = {name: text for name, text in values(await board.page(NEW)).items() if name != "csrf"}
    text = await board.posted(with_fields(NEW, {**begun, "schedule_id": "x", "job": "report", "when": when}))
    assert "/do/schedules.add" in text


async def test_an_address_fills_the_form_in_and_offers_nothing_to_save(board: Dashboard) -> None:
    for path, fields in ((NEW, FRESH), (EDIT, {**EDITED, "queue": "slow"})):
        text = await board.page(with_fields(path, {**fields, "filled": "yes"}))
        shown = values(text)
        assert {name: shown[name] for name in fields} == fields
        assert "/do/schedules." not in text
        assert "preview it first" in text


async def test_a_link_to_the_form_has_all_but_its_payload(board: Dashboard) -> None:
    for path, fields in ((NEW, FRESH), (EDIT, EDITED)):
        text = await board.posted(with_fields(path, {**fields, "payload": PAYLOAD}))
        (link,) = [
            one.attributes["href"]
            for one in parsed(text).named("a")
            if one.attributes.get("href", "").startswith(f"{path}?")
        ]
        assert parse_qs(link.partition("?")[2]) == {
            **{name: [text] for name, text in fields.items()},
            "filled": ["yes"],
        }
        assert values(await board.page(link))["when"] == fields["when"]


@pytest.mark.parametrize(("payload", "told"), [(PAYLOAD, "the payload and the reason"), ("", "the reason")])
async def test_one_who_is_refused_finds_the_form_and_is_told_what_is_not_in_it(
    board: Dashboard, payload: str, told: str
) -> None:
    taken = {**FRESH, "schedule_id": "later", "labels": "a=b"}
    fields = form_fields(
        await board.posted(with_fields(NEW, {**taken, "payload": payload})), "/do/schedules.add"
    )
    await board.house.put("later", 60)
    answer = await board.do("schedules.add", **fields)
    assert CANARY not in str(answer.headers)
    text = await board.after(answer)
    assert "Not done." in words_of(text)
    assert f"but for {told}, which no address carries" in words_of(text)
    assert {name: values(text)[name] for name in taken} == taken
    assert CANARY not in text


async def test_an_edit_that_came_too_late_is_refused_with_what_was_typed(board: Dashboard) -> None:
    posted = {**EDITED, "payload": PAYLOAD, "queue": ""}
    fields = form_fields(await board.posted(with_fields(EDIT, posted)), "/do/schedules.edit")
    meanwhile = form_fields(
        await board.posted(with_fields(EDIT, {**EDITED, "when": "every 7m"})), "/do/schedules.edit"
    )
    await board.do("schedules.edit", **meanwhile)
    text = await board.after(await board.do("schedules.edit", **fields))
    assert "Not done." in words_of(text)
    assert "the payload and the reason" in words_of(text)
    assert values(text)["when"] == "every 2m"


async def test_a_form_carries_the_version_that_it_was_opened_with(board: Dashboard) -> None:
    opened = values(await board.page(EDIT))
    assert opened["version"] == "2"
    previewed = await board.posted(with_fields(EDIT, {**EDITED, "version": opened["version"]}))
    assert values(previewed)["version"] == "2"
    fields = form_fields(previewed, "/do/schedules.edit")
    assert fields["expected_version"] == ["2"]
    assert parse_qs(fields["stay"][0])["version"] == ["2"]


async def test_nobody_takes_back_what_another_changed_since_they_opened_the_form(board: Dashboard) -> None:
    """The form says all there is: what another changed meanwhile would be what it was before."""
    mine = values(await board.page(EDIT))
    theirs = await board.posted(with_fields(EDIT, {**EDITED, "queue": "slow"}))
    board.principal = somebody(name="bert")
    await board.do("schedules.edit", **form_fields(theirs, "/do/schedules.edit"))
    board.principal = somebody()
    text = await board.posted(with_fields(EDIT, {**EDITED, "version": mine["version"], "when": "every 7m"}))
    told = "This form was opened with version 2; it is version 3 by now, changed by bert; open it again"
    assert told in words_of(text)
    assert f'<a href="{EDIT}">open it again</a>' in text
    assert "/do/schedules." not in text
    assert values(text)["when"] == "every 7m"
    assert values(text)["version"] == "2", "and it is refused again"
    assert values(await board.page(EDIT))["version"] == "3"
    assert values(await board.page(EDIT))["queue"] == "slow"


async def test_a_refused_edit_and_its_address_stay_with_their_version(board: Dashboard) -> None:
    fields = form_fields(await board.posted(with_fields(EDIT, EDITED)), "/do/schedules.edit")
    await board.house.put("minutely", 120)
    text = await board.after(await board.do("schedules.edit", **fields))
    assert "was changed meanwhile" in words_of(text)
    assert "it is version 3 by now" in words_of(text)
    assert "preview it once more" not in words_of(text)
    assert values(text)["version"] == "2"


@pytest.mark.parametrize("version", ["", "0", "02", "3", "two"])
async def test_a_form_of_no_version_there_is_is_not_previewed(board: Dashboard, version: str) -> None:
    text = await board.posted(with_fields(EDIT, {**EDITED, "version": version}))
    assert "it is version 2 by now" in words_of(text)
    assert "/do/schedules." not in text


async def test_a_payload_that_nobody_touched_is_not_to_be_entered_again(board: Dashboard) -> None:
    """It has several lines, and browsers send their ends otherwise."""
    made = {**FRESH, "payload": '{"region": "eu", "password": "hunter2-hunter2"}'}
    await board.do(
        "schedules.add", **form_fields(await board.posted(with_fields(NEW, made)), "/do/schedules.add")
    )
    text = await board.page("/schedules/fresh/edit")
    shown = text.partition('placeholder=\'{"region": "eu"}\'>')[2].partition("</textarea>")[0]
    assert "\n" in shown
    lines = shown.replace("&#34;", '"').replace("\n", "\r\n")
    posted = {**EDITED, "version": "1", "payload": lines}
    fields = form_fields(
        await board.posted(with_fields("/schedules/fresh/edit", posted)), "/do/schedules.edit"
    )
    assert "payload" not in fields
    assert parse_qs(fields["stay"][0])["again"] == ["reason"]
    assert shown in await board.page(fields["stay"][0]), "an address has no payload, and takes none away"


async def test_what_no_address_could_bring_back_is_not_previewed(board: Dashboard) -> None:
    long = {**FRESH, "labels": ", ".join(f"{number}=ü{'ü' * 100}" for number in range(15))}
    assert len(quote(long["labels"])) > QUERY_LENGTH_MAX
    text = await board.posted(with_fields(NEW, long))
    assert "holds too much beside its payload" in words_of(text)
    assert values(text)["labels"] == long["labels"]
    assert "/do/schedules." not in text
    large = {**FRESH, "payload": f'{{"text": "{"x" * 50_000}"}}'}
    assert "/do/schedules.add" in await board.posted(with_fields(NEW, large)), "the payload is not counted"
