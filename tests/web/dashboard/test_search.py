"""Search finds schedules, jobs, runs, workers and pages, and nothing that is not the reader's."""

import pytest

from fencepost.model.access import EVERYWHERE, Role
from fencepost.web.dashboard import links
from fencepost.web.dashboard.navigation import ELSEWHERE, GROUPS
from fencepost.web.dashboard.turning import shown
from tests.web.dashboard.house import Dashboard, somebody, words_of
from tests.web.dashboard.reading import parsed

PLACES = [*(place for _, group in GROUPS for place in group), *ELSEWHERE]


async def found(board: Dashboard, text: str, more: str = "") -> list[str]:
    """Where the results lead, in their order."""
    page = await board.page(links.with_query("/search", {"text": text}) + more)
    main = page.partition("<main")[2].partition("</main>")[0]
    return [one.attributes["href"] for one in parsed(main).named("a")]


@pytest.mark.parametrize(
    ("text", "href"),
    [
        ("minute", links.schedule("minutely")),
        ("nightly", links.schedule("nightly/eu")),
        ("digest", links.job("mail/digest")),
        ("minutely#2026-03-01T12:02", links.run("minutely#2026-03-01T12:02:00Z#1")),
        ("tok", "/tokens"),
        ("slack", "/notifications"),
        ("new sched", "/new-schedule"),
    ],
)
async def test_a_part_of_a_name_is_enough(board: Dashboard, text: str, href: str) -> None:
    assert href in await found(board, text)


async def test_a_worker_is_found_and_shown_alone(board: Dashboard) -> None:
    board.principal = somebody(namespace=EVERYWHERE)
    (node,) = await board.house.store.nodes.live()
    wanted = links.with_query("/workers", {"text": node.node.node_id})
    assert wanted in await found(board, "gnp.exe")
    assert drainable(await board.page(wanted)) == [shown(node.node.node_id)]
    assert drainable(await board.page("/workers?text=another")) == []


def drainable(text: str) -> list[str]:
    """The nodes that a page has a form for."""
    return [
        one.attributes["value"] for one in parsed(text).elements if one.attributes.get("name") == "node_id"
    ]


async def test_what_is_named_exactly_so_comes_first(board: Dashboard) -> None:
    for number in range(12):
        await board.house.put(f"a-minutely-{number:02}", 86_400)
    schedules = [one for one in await found(board, "minutely") if one.startswith("/schedules/")]
    assert schedules[0] == links.schedule("minutely")
    assert len(schedules) <= 6


async def test_a_schedule_of_that_name_comes_before_a_page_that_holds_it(board: Dashboard) -> None:
    await board.house.put("letters", 86_400)
    assert (await found(board, "letters"))[1] == links.schedule("letters")


async def test_a_run_by_its_whole_key_is_found_however_old_it_is(board: Dashboard) -> None:
    key = "minutely#2026-03-01T12:02:00Z#1"
    assert links.run(key) in await found(board, key, "&glance=true")


async def test_nobody_finds_a_page_that_is_not_for_their_role(board: Dashboard) -> None:
    board.principal = somebody(Role.VIEWER)
    assert "/tokens" not in await found(board, "tokens")
    assert "/new-schedule" not in await found(board, "new schedule")


async def test_nobody_finds_what_is_in_another_namespace(board: Dashboard) -> None:
    board.principal = somebody(namespace="other")
    for text in ("minutely", "report", "digest"):
        assert [
            one for one in await found(board, text) if one.startswith(("/schedules/", "/jobs/", "/runs/"))
        ] == []


async def test_nothing_found_says_so(board: Dashboard) -> None:
    assert "Nothing fits" in words_of(await board.page("/search?text=nothing-like-it"))


async def test_before_anything_is_typed_all_pages_are_listed(board: Dashboard) -> None:
    assert set(await found(board, "")) == {place.href for place in PLACES}


@pytest.mark.parametrize("text", ["%00", "a" * 201])
async def test_what_no_name_holds_is_refused(board: Dashboard, text: str) -> None:
    await board.page(f"/search?text={text}", status=400)
