"""Those who watch the logs of runs: one question for all of them, and none of them in the others' way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from fencepost.model.identifiers import RunKey
from fencepost.model.run_log import LogChunk, LoggedChunk, LogPage, LogPlace, LogSpot
from tests.web.live.theatre import NS, OTHER, Theatre, heard, principal


async def test_a_log_that_cannot_be_read_does_not_hold_up_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    theatre = Theatre()
    bad, good = await theatre.begin("bad"), await theatre.begin("good")
    await theatre.store.run_logs.append([LogPage(good.ticket, (LogChunk(1, 1, 1, "line 1"),))])
    choosy(monkeypatch, theatre, bad.run_key)
    begin = LogPlace(1, 0)
    theatre.hub.join(principal(), NS, run_key=bad.run_key, place=begin)
    theatre.hub.join(principal(), NS, run_key=bad.run_key)
    listener = theatre.hub.join(principal(), NS, run_key=good.run_key, place=begin)
    await theatre.look()
    assert lines(await heard(listener)) == ["line 1"]
    assert {one.run_key for one in theatre.hub._watching()} == {good.run_key}, "it is not asked for again"


async def test_no_watcher_of_a_log_is_always_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fencepost.web.live.run_logs.LOGS_MAX", 2)
    theatre = Theatre()
    claims = [await theatre.begin(f"run-{number}") for number in range(5)]
    await theatre.store.run_logs.append(
        [LogPage(one.ticket, (LogChunk(1, 1, 1, "line 1"),)) for one in claims]
    )
    place = LogPlace(1, 0)
    watching = [theatre.hub.join(principal(), NS, run_key=one.run_key, place=place) for one in claims]
    for _ in range(3):
        await theatre.look()
    assert [lines(await heard(one)) for one in watching] == [["line 1"]] * 5


async def test_those_who_watch_logs_do_not_cost_more_than_one_read_and_hear_each_line_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    theatre = Theatre()
    claim = await theatre.begin("one")
    pages = [LogPage(claim.ticket, (LogChunk(n, n, 1, f"line {n}"),)) for n in (1, 2, 3)]
    await theatre.store.run_logs.append(pages[:1])
    reads = counted(monkeypatch, theatre)
    watching = [theatre.hub.join(principal(), NS, run_key=claim.run_key) for _ in range(10)]
    behind = theatre.hub.join(principal(), NS, run_key=claim.run_key, place=LogPlace(1, 0))
    stranger = theatre.hub.join(principal("t2", OTHER), OTHER, run_key=claim.run_key, place=LogPlace(1, 0))
    await theatre.look()
    assert lines(await heard(behind)) == ["line 1"]
    reads.clear()
    await theatre.store.run_logs.append(pages[1:])
    assert await theatre.look() == theatre.hub.pace.busy_s
    ((spots, _),) = reads
    assert len(spots) == 2, "the run, and the stranger's, which is not there"
    for listener in (*watching, behind):
        assert lines(await heard(listener)) == ["line 2", "line 3"]
    assert lines(await heard(stranger)) == []


def lines(told: list[tuple[str, object]]) -> list[str]:
    return [chunk["text"] for name, data in told if name == "log" for chunk in data["chunks"]]  # type: ignore[index]


def choosy(monkeypatch: pytest.MonkeyPatch, theatre: Theatre, refused: RunKey) -> None:
    """Have the store fail where it is asked about that log."""
    run_logs = theatre.store.run_logs
    read_on, tail = run_logs.read_on, run_logs.tail

    async def choosy_read(spots: Sequence[LogSpot], limit: int) -> Sequence[Sequence[LoggedChunk]]:
        if any(one.run_key == refused for one in spots):
            raise ValueError("unreadable")
        return await read_on(spots, limit)

    async def choosy_tail(namespace: Any, run_key: RunKey, **more: Any) -> Sequence[LoggedChunk]:
        if run_key == refused:
            raise ValueError("unreadable")
        return await tail(namespace, run_key, **more)

    monkeypatch.setattr(run_logs, "read_on", choosy_read)
    monkeypatch.setattr(run_logs, "tail", choosy_tail)


def counted(monkeypatch: pytest.MonkeyPatch, theatre: Theatre) -> list[tuple[Sequence[LogSpot], int]]:
    """What the store is asked of logs from now on."""
    reads: list[tuple[Sequence[LogSpot], int]] = []
    read_on = theatre.store.run_logs.read_on

    async def counting(spots: Sequence[LogSpot], limit: int) -> Sequence[Sequence[LoggedChunk]]:
        reads.append((spots, limit))
        return await read_on(spots, limit)

    monkeypatch.setattr(theatre.store.run_logs, "read_on", counting)
    return reads
