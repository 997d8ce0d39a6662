"""Every page renders, says what it is, and keeps to the policy that browsers hold it to."""

from typing import Any
from urllib.parse import quote

import pytest

from fencepost.model.access import Role
from fencepost.model.identifiers import JobName, NodeId, ScheduleId, tick_key
from fencepost.model.job import JobSpec
from fencepost.model.node import Node, NodeReport
from fencepost.model.run import RunState
from fencepost.web.dashboard import links
from fencepost.web.dashboard.assets import assets
from fencepost.web.dashboard.page import Page, all_pages
from fencepost.web.dashboard.rendering import environment
from tests.services.house import NS, START, House
from tests.web.dashboard.furnished import HOSTILE, NIGHTLY, furnished
from tests.web.dashboard.house import Dashboard, somebody, words_of
from tests.web.dashboard.reading import faults, parsed

RUN = tick_key(ScheduleId("minutely"), START.replace(minute=2), 1)
SAMPLES = {"schedule_id": "minutely", "run_key": str(RUN), "job": "report", "queue": "slow"}
QUERIES = {
    "/schedules/{schedule_id}/why": "?at=2026-03-01T12:02:00Z",
    "/schedules/{schedule_id}/backfill": "?since=50m&until=0s&mode=all",
    "/schedules/{schedule_id}/edit": "?filled=yes&job=report&when=0+1+*+*+*&tz=Europe/Berlin&labels=a%3Db",
    "/new-schedule": "?filled=yes&schedule_id=fresh&job=report&when=every+5m&overlap=skip&mode=none",
}


def address(page: Page[Any]) -> str | None:
    """Where a page is, with samples for what stands in its path; None where there is no sample."""
    path = page.path
    for name in page.in_path:
        if name not in SAMPLES:
            return None
        path = path.replace(f"{{{name}}}", quote(SAMPLES[name], safe=""))
    return path + QUERIES.get(page.path, "")


ADDRESSES = [found for one in all_pages() if (found := address(one)) is not None]


@pytest.mark.parametrize("path", ADDRESSES)
async def test_a_page_has_one_heading_and_landmarks_and_nothing_inline(board: Dashboard, path: str) -> None:
    assert faults(await board.page(path)) == []


@pytest.mark.parametrize("path", ["/", "/schedules", "/new-schedule"])
async def test_a_page_of_an_empty_house_says_what_to_do(path: str) -> None:
    text = await Dashboard(House(), somebody()).page(path)
    assert faults(text) == []


async def test_an_empty_house_is_told_its_first_steps() -> None:
    assert "First steps" in await Dashboard(House(), somebody()).page("/")


async def test_a_furnished_house_is_not_told_its_first_steps(board: Dashboard) -> None:
    assert "First steps" not in await board.page("/")


async def test_what_needs_a_person_is_counted_in_the_first_byte(board: Dashboard) -> None:
    """Beside its word in the navigation of every page, before any stream has said anything."""
    runs = await board.house.runs()
    dead = sum(one.state is RunState.DEAD for one in runs)
    gates = len(await board.house.store.gates.closed(NS))
    assert min(dead, gates) > 0
    for path in ("/log", "/schedules", "/dead"):
        text = await board.page(path)
        assert f'data-live="counts.dead">{dead}</span>' in text
        assert f'data-live="counts.gates">{gates}</span>' in text
    empty = await Dashboard(House(), somebody()).page("/schedules")
    assert 'data-live="counts.dead" hidden>' in empty
    assert 'data-live="counts.gates" hidden>' in empty


async def test_the_overview_does_not_hide_a_schedule_whose_job_nobody_has() -> None:
    house = House()
    await house.memory.jobs.register(NS, [JobSpec(JobName("report"))])
    await house.put("beat")
    node = Node(NodeId("web-1"), "web", 1, plans=True, works=True)
    for jobs, there in (((JobName("report"),), False), ((JobName("other"),), True)):
        await house.memory.nodes.beat(node, NodeReport(jobs=jobs), 60)
        words = words_of(await Dashboard(house, somebody()).page("/"))
        assert ("Schedule beat: no running process has job report" in words) is there


async def test_the_overview_names_all_that_needs_a_person(board: Dashboard) -> None:
    words = words_of(await board.page("/"))
    for one in (
        "dead letters wait",
        "Queue slow is paused",
        "Schedule stiff is frozen",
        "is stuck",
        "clock of",
    ):
        assert one in words, one


@pytest.mark.parametrize(
    ("query", "there", "not_there"),
    [
        ("", ["minutely", "resting", "stiff", NIGHTLY], ["gone"]),
        ("?text=nightly", [NIGHTLY], ["minutely"]),
        ("?state=paused", ["resting"], ["minutely", "stiff"]),
        ("?state=removed", ["gone"], ["minutely"]),
        ("?frozen=true", ["stiff"], ["minutely"]),
        ("?frozen=false", ["minutely"], ["stiff"]),
        ("?job=mail%2Fdigest", [NIGHTLY], ["minutely"]),
        ("?label=team", ["minutely"], ["stiff"]),
        ("?limit=1", ["minutely"], ["resting"]),
        ("?limit=1&after=minutely", [NIGHTLY], ["minutely"]),
    ],
)
async def test_schedules_are_found_by_what_is_asked(
    board: Dashboard, query: str, there: list[str], not_there: list[str]
) -> None:
    rows = [
        one.attributes.get("value") for one in parsed(await board.page(f"/schedules{query}")).named("input")
    ]
    assert [one for one in there if one not in rows] == []
    assert [one for one in not_there if one in rows] == []


async def test_the_next_page_goes_on_where_this_one_ends(board: Dashboard) -> None:
    (link,) = [
        one.attributes["href"]
        for one in parsed(await board.page("/schedules?limit=2&state=active")).named("a")
        if one.attributes.get("rel") == "next"
    ]
    assert link == links.with_query("/schedules", {"state": "active", "after": NIGHTLY, "limit": 2})


async def test_what_is_not_there_is_a_page_with_404(board: Dashboard) -> None:
    text = await board.page("/schedules/minutley", 404)
    assert "did you mean minutely?" in words_of(text)
    assert faults(text) == []


async def test_another_tenants_schedule_is_not_there(board: Dashboard) -> None:
    board.principal = somebody(namespace="other")
    for room in ("", "/edit", "/backfill", "/why?at=2026-03-01T12:02:00Z"):
        assert "minutely" in await board.page(f"/schedules/minutely{room}", 404)
    assert "minutely" not in await board.page("/schedules")
    assert HOSTILE[:7] not in words_of(await board.page("/"))


@pytest.mark.parametrize(
    "query", ["?limit=0", "?limit=100000", "?state=no", "?text=" + "x" * 301, "?a=" + "b" * 9_000]
)
async def test_a_query_out_of_bounds_is_refused(board: Dashboard, query: str) -> None:
    assert faults(await board.page(f"/schedules{query}", 400)) == []


@pytest.mark.parametrize("query", ["?span=3h", "?until=yesterday", "?until=20260-01-01"])
async def test_a_stretch_of_time_that_is_none_is_refused(board: Dashboard, query: str) -> None:
    await board.page(f"/schedules/minutely{query}", 400)


@pytest.mark.parametrize(
    ("path", "call"),
    [("/", "ledger.news"), ("/schedules", "schedules.find"), ("/schedules/minutely", "ledger.ticks")],
)
async def test_a_store_that_is_away_is_a_page_that_says_so(board: Dashboard, path: str, call: str) -> None:
    board.house.store.fail_before(call)
    text = await board.page(path, 503)
    assert "Try again" in text
    assert faults(text) == []


async def test_a_long_history_is_not_read_nor_shown_as_a_whole(
    board: Dashboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    board.house.clock.advance(366 * 86_400)
    for number in range(120):
        await board.house.put("stiff", 60 + number)
    board.house.clock.advance(366 * 86_400)
    schedules, read = board.house.memory.schedules, list[int]()
    real = schedules.history

    async def counted(*asked: Any, **more: Any) -> Any:
        found = await real(*asked, **more)
        read.append(len(found))
        return found

    monkeypatch.setattr(schedules, "history", counted)
    first = words_of(await board.page("/schedules/stiff"))
    assert ("Version 121" in first, "Version 116" in first, "and 116 older" in first) == (True, False, True)
    assert max(read) <= 6
    many = words_of(await board.page("/schedules/stiff?versions=all"))
    assert ("Version 22" in many, "Version 21 " in many) == (True, False)
    assert "and 21 older, in fencepost schedules history stiff" in many
    assert max(read) <= 101


@pytest.mark.parametrize(
    ("path", "most"), [("/", 17), ("/schedules", 6), ("/schedules/minutely", 9), ("/matrix", 6)]
)
async def test_a_page_asks_the_store_a_bounded_number_of_questions(
    board: Dashboard, path: str, most: int
) -> None:
    """The first of them is that of every visit: the time, and what waits for a person."""
    for number in range(40):
        await board.house.put(f"another-{number}", 60)
    board.house.store.calls.clear()
    await board.page(path)
    assert len(board.house.store.calls) <= most, [name for name, _ in board.house.store.calls]


@pytest.mark.parametrize("path", ADDRESSES)
async def test_nobody_sees_a_page_without_being_known(board: Dashboard, path: str) -> None:
    board.principal = None
    await board.page(path, 401)


@pytest.mark.parametrize(
    ("path", "needed", "below"),
    [
        (path, one.role, role)
        for one in all_pages()
        for role in Role
        if not role.covers(one.role) and (path := address(one)) is not None
    ],
)
async def test_a_role_that_is_not_enough_sees_no_page(path: str, needed: Role, below: Role) -> None:
    board = Dashboard(await furnished(), somebody(below))
    assert f"needs the role {needed}" in words_of(await board.page(path, 403))


async def test_a_viewer_finds_no_form_that_changes_something(board: Dashboard) -> None:
    board.principal = somebody(Role.VIEWER)
    for path in ("/", "/schedules", "/schedules/minutely"):
        forms = [one.attributes.get("action", "") for one in parsed(await board.page(path)).named("form")]
        assert [one for one in forms if one.startswith("/do/")] == []


async def test_times_are_shown_in_the_zone_of_the_viewer(board: Dashboard) -> None:
    path = "/schedules/minutely/why?at=2026-03-01T12:02:00Z"
    for zone, clock in (
        ("Asia/Tokyo", "21:02:00"),
        ("Europe%2FBerlin", "13:02:00"),
        ("No/Where", "12:02:00"),
    ):
        text = (await board.get(path, {"fencepost_zone": zone})).content.decode()
        assert f">Sun 1 Mar {clock}<" in text
        assert 'datetime="2026-03-01T12:02:00Z"' in text


@pytest.mark.parametrize(("cookie", "theme"), [("dark", "dark"), ("light", "light"), ('"><b', "auto")])
async def test_the_theme_that_was_chosen_is_in_the_first_byte(
    board: Dashboard, cookie: str, theme: str
) -> None:
    text = (await board.get("/", {"fencepost_theme": cookie})).content.decode()
    assert f'data-theme="{theme}"' in text


async def test_files_are_served_for_ever_under_the_digest_of_their_content(board: Dashboard) -> None:
    board.principal = None
    for one in assets().values():
        answer = await board.get(one.url)
        assert (answer.status, answer.content) == (200, one.content)
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["content-type"].startswith(one.media_type.partition(";")[0])
    assert (await board.get("/static/fencepost.000000000000.css")).status == 404


def test_no_template_reaches_for_what_is_not_there() -> None:
    for name in environment().list_templates():
        environment().get_template(name)


async def test_a_schedule_says_when_it_fires_as_it_was_written(board: Dashboard) -> None:
    text = await board.page(f"/schedules/{NIGHTLY.replace('/', '%2F')}")
    assert "<dt>Fires</dt><dd><code>30 2 * * *</code></dd>" in text
    assert "<dt>Zone</dt><dd><code>Europe/Berlin</code></dd>" in text
    assert "<dt>Zone</dt>" not in await board.page("/schedules/minutely")
