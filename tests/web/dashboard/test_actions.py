"""Forms carry out operations in the name of whoever is signed in, and lead back to a page that says so."""

from typing import Any

import msgspec
import pytest

from fencepost.errors import UsageError
from fencepost.model.access import EVERYWHERE, Role
from fencepost.model.audit import LogFilter
from fencepost.model.identifiers import RunKey, ScheduleId
from fencepost.model.run import RunState
from fencepost.model.schedule import Schedule, ScheduleState
from fencepost.operations.schedules import EditScheduleRequest
from fencepost.web.dashboard.actions.asking import QUESTIONS
from fencepost.web.dashboard.actions.forms import read_form, to_request
from fencepost.web.dashboard.actions.operations import changes
from fencepost.web.dashboard.actions.telling import TELLERS
from tests.services.house import NS
from tests.web.dashboard.house import Dashboard, somebody, words_of
from tests.web.dashboard.reading import faults, form_fields, parsed


async def stored(board: Dashboard, schedule_id: str) -> Schedule:
    found = await board.house.memory.schedules.get(NS, ScheduleId(schedule_id))
    assert found is not None
    return found


async def state(board: Dashboard, schedule_id: str) -> ScheduleState:
    return (await stored(board, schedule_id)).state


async def test_a_form_changes_something_in_the_name_of_whoever_sent_it(board: Dashboard) -> None:
    answer = await board.do(
        "schedules.pause", schedule_id="minutely", back="/schedules/minutely", reason="so"
    )
    text = await board.after(answer)
    assert await state(board, "minutely") is ScheduleState.PAUSED
    assert "minutely: paused" in words_of(text)
    (entry,) = await board.house.memory.audit_log.list(NS, LogFilter(limit=1))
    assert (entry.author.name, entry.author.reason) == ("anna", "so")
    assert entry.author.source.startswith("dashboard")


async def test_a_refusal_is_said_on_the_page_that_it_came_from(board: Dashboard) -> None:
    answer = await board.do(
        "schedules.resume", schedule_id="minutely", back="/schedules", stay="/schedules/minutely"
    )
    assert answer.headers["location"] == "/schedules/minutely"
    text = await board.after(answer)
    assert "is not paused" in words_of(text)
    assert 'role="alert"' in text


async def test_what_is_not_in_the_namespace_is_refused(board: Dashboard) -> None:
    board.principal = somebody(namespace="other")
    assert "not found" in words_of(
        await board.after(await board.do("schedules.pause", schedule_id="minutely"))
    )
    board.principal = somebody()
    assert await state(board, "minutely") is ScheduleState.ACTIVE


@pytest.mark.parametrize("csrf", [None, "", "another"])
async def test_a_form_of_another_site_changes_nothing(board: Dashboard, csrf: str | None) -> None:
    answer = await board.do("schedules.pause", csrf, schedule_id="minutely")
    assert answer.status == 403
    assert await state(board, "minutely") is ScheduleState.ACTIVE


@pytest.mark.parametrize("name", sorted(changes()))
async def test_a_role_that_is_not_enough_does_nothing(board: Dashboard, name: str) -> None:
    role = changes()[name].role
    for below in (one for one in Role if not one.covers(role)):
        board.principal = somebody(below)
        assert (await board.do(name)).status == 403
    board.principal = None
    assert (await board.do(name)).status == 401


@pytest.mark.parametrize("name", ["runs.list", "nothing", "runs.claim", "..", "%2e%2e"])
async def test_what_changes_nothing_is_no_form(board: Dashboard, name: str) -> None:
    assert (await board.do(name)).status == 404


async def test_what_touches_all_tenants_is_not_for_one_of_them(board: Dashboard) -> None:
    answer = await board.do("nodes.drain", node_id="n", confirmed="yes")
    assert answer.status == 403


@pytest.mark.parametrize(
    ("back", "there"),
    [
        ("/schedules?text=a%20b", "/schedules?text=a%20b"),
        ("/schedules/{schedule_id}", "/schedules/minutely"),
        ("https://evil.example/", "/"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("/\t/evil.example", "/"),
        ("javascript:alert(1)", "/"),
        ("/ü", "/"),
        ("", "/"),
    ],
)
async def test_it_leads_back_into_this_house_and_nowhere_else(
    board: Dashboard, back: str, there: str
) -> None:
    answer = await board.do("schedules.trigger", schedule_id="minutely", back=back)
    assert (answer.status, answer.headers["location"]) == (303, there)


async def test_a_field_in_the_way_back_cannot_lead_out(board: Dashboard) -> None:
    answer = await board.do("schedules.trigger", schedule_id="/evil.example", back="/{schedule_id}")
    assert answer.headers["location"] == "/%2Fevil.example"


async def test_what_cannot_be_taken_back_is_asked_about_first(board: Dashboard) -> None:
    asked = await board.do("schedules.remove", schedule_id="minutely", back="/schedules")
    text = asked.content.decode()
    assert asked.status == 200
    assert faults(text) == []
    assert await state(board, "minutely") is ScheduleState.ACTIVE
    fields = form_fields(text, "/do/schedules.remove")
    answer = await board.do("schedules.remove", **fields)
    assert answer.status == 303
    assert await state(board, "minutely") is ScheduleState.REMOVED


async def test_many_are_paused_at_once_and_what_could_not_be_is_said(board: Dashboard) -> None:
    answer = await board.do(
        "schedules.pause_many", schedule_ids=["minutely", "stiff", "resting"], back="/schedules"
    )
    words = words_of(await board.after(answer))
    assert "2 of 3" in words
    assert "resting" in words
    assert [await state(board, one) for one in ("minutely", "stiff")] == [ScheduleState.PAUSED] * 2


async def test_a_trigger_leads_to_its_run(board: Dashboard) -> None:
    text = await board.after(await board.do("schedules.trigger", schedule_id="minutely", back="/schedules"))
    hrefs = [one.attributes.get("href", "") for one in parsed(text).named("a")]
    assert any(one.startswith("/runs/minutely%23") for one in hrefs)


async def test_a_store_that_is_away_leaves_the_outcome_open(board: Dashboard) -> None:
    board.house.store.fail_after("schedules.pause")
    text = await board.after(await board.do("schedules.pause", schedule_id="minutely", back="/schedules"))
    assert "unknown" in words_of(text)


async def test_an_edit_is_previewed_and_then_carried_out(board: Dashboard) -> None:
    words = "job=report&when=every+2m&overlap=skip&mode=latest&max_lateness=2h&version=2"
    text = await board.posted(f"/schedules/minutely/edit?{words}")
    assert (await stored(board, "minutely")).version == 2
    fields = form_fields(text, "/do/schedules.edit")
    answer = await board.do("schedules.edit", **fields)
    assert answer.headers["location"] == "/schedules/minutely", await board.after(answer)
    edited = await stored(board, "minutely")
    assert (edited.version, edited.spec.trigger["interval"], edited.spec.catch_up.words) == (
        3,
        "2m",
        "latest",
    )
    assert edited.spec.labels == {}
    assert edited.spec.payload == {}


async def test_a_run_is_asked_about_and_cancelled(board: Dashboard) -> None:
    key = "report#<b>bold"
    await board.do("runs.cancel", run_key=key, confirmed="yes")
    run = await board.house.memory.ledger.get(NS, RunKey(key))
    assert run is not None
    assert run.state is RunState.CANCELLED


def test_every_name_that_is_asked_about_or_told_of_is_one_of_an_operation() -> None:
    assert {*QUESTIONS, *TELLERS} - changes().keys() == set()


class Inner(msgspec.Struct):
    """A field of a field."""

    number: int = 0


class Sample(msgspec.Struct, forbid_unknown_fields=True):
    """One of everything."""

    word: str = ""
    flag: bool = True
    number: int | None = None
    many: list[str] | None = None
    loose: dict[str, Any] | None = None
    inner: Inner | str | None = None


@pytest.mark.parametrize(
    ("body", "asked"),
    [
        (b"word=a+b&flag=false&number=5", Sample("a b", False, 5)),
        (b"flag=on", Sample(flag=True)),
        (b"number=+7+", Sample(number=7)),
        (b"number=&word=", Sample()),
        (b"many=a&many=b", Sample(many=["a", "b"])),
        (b"many=a", Sample(many=["a"])),
        (b'loose={"a": [1]}', Sample(loose={"a": [1]})),
        (b"loose.key=value", Sample(loose={"key": "value"})),
        (b"inner.number=3", Sample(inner=Inner(3))),
        (b"inner=plain", Sample(inner="plain")),
        (b"word=a%0D%0Ab", Sample("a\nb")),
    ],
)
def test_a_form_is_read_by_the_types_of_its_operation(body: bytes, asked: Sample) -> None:
    assert to_request(read_form(body), Sample) == asked


@pytest.mark.parametrize(
    "body", [b"other=1", b"word.inner=1", b"number=x", b"loose=nonsense", b"word=a&word=b", b"inner.other=1"]
)
def test_a_form_that_says_something_else_is_refused(body: bytes) -> None:
    with pytest.raises(UsageError):
        to_request(read_form(body), Sample)


def test_what_is_cleared_is_null() -> None:
    asked = to_request({"schedule_id": ["a"]}, EditScheduleRequest, ["queue"])
    assert asked.queue is None
    assert not asked.nothing


@pytest.mark.parametrize("body", [b"a=1&" * 3_000, b"a=\xff", b"a=%ff"])
def test_a_form_out_of_bounds_is_refused(body: bytes) -> None:
    with pytest.raises(UsageError):
        read_form(body)


async def test_a_secret_that_was_made_is_shown_once_and_is_in_no_cookie(board: Dashboard) -> None:
    answer = await board.do("tokens.create", name="ci", role="viewer", back="/tokens")
    text = answer.content.decode()
    assert answer.status == 200
    (secret,) = [
        one.attributes["value"] for one in parsed(text).named("input") if "readonly" in one.attributes
    ]
    assert secret.startswith("fp_t")
    assert secret not in str(answer.headers)
    assert faults(text) == []


async def test_whoever_may_look_everywhere_chooses_where(board: Dashboard) -> None:
    board.principal = somebody(namespace=EVERYWHERE)
    assert "minutely" in await board.page("/schedules")
    answer = await board.send("/namespace", namespace="other", back="/schedules")
    assert (answer.status, answer.headers["location"]) == (303, "/schedules")
    shown = await board.get("/schedules", {"fencepost_namespace": "other"})
    assert b"minutely" not in shown.content
    assert "fencepost_namespace=other" in answer.headers["set-cookie"]


async def test_a_cookie_opens_no_other_namespace(board: Dashboard) -> None:
    board.principal = somebody(namespace="other")
    shown = await board.get("/schedules", {"fencepost_namespace": "default"})
    assert b"minutely" not in shown.content
    assert (await board.send("/namespace", namespace="default")).status == 403


@pytest.mark.parametrize("name", ["", "*", "a b", "../x", "x" * 300])
async def test_a_namespace_that_is_none_is_refused(board: Dashboard, name: str) -> None:
    board.principal = somebody(namespace=EVERYWHERE)
    assert (await board.send("/namespace", namespace=name)).status == 400
    assert (await board.get("/", {"fencepost_namespace": name})).status == 200


async def test_another_site_chooses_no_namespace(board: Dashboard) -> None:
    board.principal = somebody(namespace=EVERYWHERE)
    assert (await board.send("/namespace", csrf=None, namespace="other")).status == 403
