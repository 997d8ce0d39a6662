"""Many listeners cost what one does; nobody is waited for; nobody stays who may not."""

from __future__ import annotations

import asyncio

import pytest

from fencepost.clock import SystemClock
from fencepost.errors import StoreUnavailable
from fencepost.model.identifiers import ScheduleId, Shard
from fencepost.model.run import RunState
from fencepost.ports.signals import Topic
from fencepost.testing.conformance.builders import make_spec, register
from fencepost.web.live.hub import Hub, Pace, TooManyStreams
from tests.web.live.theatre import NS, OTHER, Theatre, heard, principal, runs_in

STREAMS = 200
HINTS = 50


async def test_two_hundred_streams_do_not_cost_more_than_one_query_a_second() -> None:
    """By the real clock: hints come all the time, and the store is asked as often as seconds went by."""
    theatre, clock = Theatre(), SystemClock()
    hub = Hub(theatre.store, theatre._still_good, clock, Pace(per_credential_max=STREAMS))
    listeners = [hub.join(principal(), NS) for _ in range(STREAMS)]
    began, running = clock.monotonic(), asyncio.create_task(hub.run())
    for _ in range(HINTS):
        theatre.store.signals.hint(Topic.RUNS)
        await asyncio.sleep(0.05)
    queries, spent_s = theatre.ledger.calls["news"], clock.monotonic() - began
    running.cancel()
    await asyncio.wait({running})
    assert 1 <= queries <= spent_s + 1
    assert theatre.ledger.calls.total() == queries
    assert all(one.ended.is_set() for one in listeners)


async def test_one_look_serves_every_stream_of_every_namespace() -> None:
    theatre = Theatre(per_credential_max=STREAMS)
    mine = [theatre.hub.join(principal(), NS) for _ in range(STREAMS // 2)]
    theirs = [theatre.hub.join(principal("t2", OTHER), OTHER) for _ in range(STREAMS // 2)]
    await theatre.look()
    claim = await theatre.begin("one")
    other = await theatre.begin("two", OTHER)
    theatre.ledger.calls.clear()
    await theatre.look()
    assert theatre.ledger.calls == {"news": 1}
    for listener in mine:
        assert runs_in(await heard(listener)) == [(claim.run_key, "running")]
    for listener in theirs:
        assert runs_in(await heard(listener)) == [(other.run_key, "running")]


async def test_without_a_listener_it_costs_nothing() -> None:
    theatre = Theatre()
    running = asyncio.create_task(theatre.hub.run())
    for _ in range(10):
        theatre.store.signals.hint(Topic.RUNS)
        await asyncio.sleep(0)
        theatre.clock.advance(10)
    assert theatre.ledger.calls["news"] == 0
    listener = theatre.hub.join(principal(), NS)
    assert await listener.take(30)
    theatre.hub.leave(listener)
    asked = theatre.ledger.calls["news"]
    for _ in range(10):
        theatre.clock.advance(10)
        await asyncio.sleep(0)
    assert theatre.ledger.calls["news"] <= asked + 1
    running.cancel()
    await asyncio.wait({running})


async def test_a_quiet_house_is_looked_at_less_often_than_a_busy_one() -> None:
    theatre = Theatre()
    theatre.hub.join(principal(), NS)
    assert await theatre.look() == theatre.hub.pace.busy_s, "the first look learns only what time it is"
    assert await theatre.look() == theatre.hub.pace.quiet_s
    claim = await theatre.begin("one")
    assert await theatre.look() == theatre.hub.pace.busy_s
    assert await theatre.look() == theatre.hub.pace.busy_s, "something runs"
    await theatre.end(claim)
    assert await theatre.look() == theatre.hub.pace.busy_s
    assert await theatre.look() == theatre.hub.pace.quiet_s


async def test_a_run_whose_commit_came_late_is_still_told_and_told_once() -> None:
    theatre = Theatre()
    listener = theatre.hub.join(principal(), NS)
    await theatre.look()
    late = await theatre.begin("late")
    theatre.ledger.hidden.add(late.run_key)
    theatre.clock.advance(2)
    soon = await theatre.begin("soon")
    await theatre.look()
    assert runs_in(await heard(listener)) == [(soon.run_key, "running")]
    theatre.ledger.hidden.clear()
    await theatre.look()
    assert runs_in(await heard(listener)) == [(late.run_key, "running")]
    await theatre.look()
    assert runs_in(await heard(listener)) == []


async def test_each_step_of_a_run_is_told_and_none_twice() -> None:
    theatre = Theatre()
    listener = theatre.hub.join(principal(), NS)
    await theatre.look()
    claim = await theatre.begin("one")
    told = []
    for _ in range(3):
        await theatre.look()
        told += runs_in(await heard(listener))
    await theatre.end(claim, RunState.DEAD, error="boom\nmore")
    for _ in range(3):
        await theatre.look()
        told += runs_in(await heard(listener))
    assert told == [(claim.run_key, "running"), (claim.run_key, "dead")]


async def test_counts_do_not_come_again_where_nothing_changed() -> None:
    theatre = Theatre()
    listener = theatre.hub.join(principal(), NS)
    await theatre.look()
    assert [name for name, _ in await heard(listener)] == ["counts"]
    await theatre.look()
    assert await heard(listener) == []


async def test_a_change_of_schedules_or_leases_is_told_to_those_it_concerns() -> None:
    theatre = Theatre()
    mine, theirs = theatre.hub.join(principal(), NS), theatre.hub.join(principal("t2", OTHER), OTHER)
    await theatre.look()
    await heard(mine), await heard(theirs)
    spec, schedules = make_spec(), theatre.store.schedules
    await schedules.put(NS, ScheduleId("hourly"), spec, tzdata="2026a", expected_version=None)
    await theatre.look()
    assert "schedules" in [name for name, _ in await heard(mine)]
    assert await heard(theirs) == []
    await register(theatre.store, Shard(0), 3)
    await theatre.look()
    assert [[name for name, _ in await heard(one)] for one in (mine, theirs)] == [["leases"], ["leases"]]


async def test_a_revoked_credential_ends_its_streams_and_no_others() -> None:
    theatre = Theatre()
    gone = [theatre.hub.join(principal("t1"), NS) for _ in range(3)]
    stays = theatre.hub.join(principal("t2"), NS)
    theatre.revoked.add("t1")
    await theatre.look(theatre.hub.pace.check_every_s)
    assert all(one.ended.is_set() for one in gone)
    assert [await one.take(0) for one in gone] == [None] * 3
    assert not stays.ended.is_set()
    assert theatre.checks == {"t1": 1, "t2": 1}, "a credential is asked about once, not once a stream"


async def test_a_stream_does_not_outlive_its_age() -> None:
    theatre = Theatre(age_max_s=60)
    listener = theatre.hub.join(principal(), NS)
    await theatre.look(59)
    assert not listener.ended.is_set()
    await theatre.look(1)
    assert listener.ended.is_set()


async def test_closing_ends_every_stream_at_once_and_admits_no_more() -> None:
    theatre = Theatre()
    listener = theatre.hub.join(principal(), NS)
    waiting = asyncio.create_task(listener.take(3_600))
    await asyncio.sleep(0)
    theatre.hub.close()
    assert await waiting is None
    assert await theatre.hub.join(principal(), NS).take(3_600) is None


async def test_there_are_not_more_streams_than_a_credential_or_the_process_may_have() -> None:
    theatre = Theatre(per_credential_max=2, streams_max=3)
    first = theatre.hub.join(principal("t1"), NS)
    theatre.hub.join(principal("t1"), NS)
    with pytest.raises(TooManyStreams, match="this credential has 2"):
        theatre.hub.join(principal("t1"), NS)
    theatre.hub.join(principal("t2"), NS)
    with pytest.raises(TooManyStreams, match="this server has 3"):
        theatre.hub.join(principal("t3"), NS)
    theatre.hub.leave(first)
    theatre.hub.join(principal("t3"), NS)


async def test_a_store_that_was_away_is_followed_by_a_resync(monkeypatch: pytest.MonkeyPatch) -> None:
    theatre = Theatre()
    listener = theatre.hub.join(principal(), NS)
    await theatre.look()
    await heard(listener)

    async def away(*_: object) -> None:
        raise StoreUnavailable("gone")

    with monkeypatch.context() as absent:
        absent.setattr(theatre.ledger, "news", away)
        await theatre.hub._pass()
    theatre.clock.advance(1)
    await theatre.hub._pass()
    assert "resync" in [name for name, _ in await heard(listener)]


async def test_an_error_of_any_kind_does_not_end_the_hub(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    theatre = Theatre()
    listener = theatre.hub.join(principal(), NS)
    await theatre.look()
    await heard(listener)

    async def broken(*_: object) -> None:
        raise ZeroDivisionError("nobody thought of this")

    with monkeypatch.context() as absent:
        absent.setattr(theatre.ledger, "news", broken)
        assert [await theatre.hub._pass() for _ in range(3)] == [theatre.hub.pace.quiet_s] * 3
    assert caplog.text.count("the look failed") == 1, "it is said once, not at every look"
    await theatre.hub._pass()
    assert "resync" in [name for name, _ in await heard(listener)]


async def test_a_gap_between_two_looks_is_not_passed_over_in_silence() -> None:
    theatre = Theatre()
    listener = theatre.hub.join(principal(), NS)
    await theatre.look()
    await heard(listener)
    claim = await theatre.begin("one")
    new = theatre.hub.join(principal(), NS)
    await theatre.look(theatre.hub.pace.overlap_s + 1)
    told = await heard(listener)
    assert told[0][0] == "resync"
    assert (claim.run_key, "running") not in runs_in(told)
    assert "resync" not in [name for name, _ in await heard(new)]
    await theatre.look()
    assert await heard(listener) == []


async def test_no_listener_is_told_of_a_cut_where_nothing_new_was_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fencepost.web.live.hub.NEWS_MAX", 2)
    theatre = Theatre()
    mine, theirs = theatre.hub.join(principal(), NS), theatre.hub.join(principal("t2", OTHER), OTHER)
    await theatre.look()
    for number in range(4):
        await theatre.begin(f"run-{number}")
        await theatre.look()
    assert [data["cut"] for name, data in await heard(mine) if name == "runs"] == [False] * 4
    assert "runs" not in [name for name, _ in await heard(theirs)]
    for number in range(3):
        await theatre.begin(f"more-{number}")
    await theatre.look()
    for listener in (mine, theirs):
        assert [data["cut"] for name, data in await heard(listener) if name == "runs"] == [True]


async def test_many_credentials_do_not_cost_more_than_one_question() -> None:
    theatre = Theatre()
    listeners = [theatre.hub.join(principal(f"t{number}"), NS) for number in range(STREAMS)]
    theatre.revoked |= {"t3", "t7"}
    await theatre.look(theatre.hub.pace.check_every_s)
    assert theatre.questions == 1
    assert [number for number, one in enumerate(listeners) if one.ended.is_set()] == [3, 7]


async def test_streams_that_begin_together_do_not_end_together() -> None:
    theatre, dice = Theatre(), iter((0.0, 0.5, 0.99))
    hub = Hub(theatre.store, theatre._still_good, theatre.clock, Pace(age_max_s=100), lambda: next(dice))
    ends = [hub.join(principal(), NS).until - theatre.clock.monotonic() for _ in range(3)]
    assert ends == sorted(ends, reverse=True)
    assert len(set(ends)) == 3
    assert 85 < ends[-1] < ends[0] <= 100
