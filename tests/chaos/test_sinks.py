"""The checks of the drills see what they are there to see."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.chaos import sinks
from tests.chaos.sinks import DurableLines, Effect, check_acknowledged, check_effects

KEY = "order#one"


class Told:
    """A ledger that says what it is told to."""

    url = ""

    def __init__(self, state: str = "succeeded", attempt: int = 1, fence: int = 7) -> None:
        self._run = {"run_key": KEY, "state": state, "attempt": attempt, "fence": fence}

    async def query(self, sql: str, *moments: datetime) -> Sequence[Mapping[str, Any]]:
        return [{"schedule_id": "added"}] if sql == sinks.SCHEDULES else [self._run]

    async def is_locked(self) -> bool:
        return False

    async def close(self) -> None: ...


def test_a_line_is_appended_to_what_another_wrote(tmp_path: Path) -> None:
    for line in ("one", "two"):
        DurableLines(tmp_path / "book").append(line)
    assert DurableLines(tmp_path / "book").lines() == ["one", "two"]


def test_no_line_is_there_before_the_disk_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> None:
        raise OSError("no disk")

    monkeypatch.setattr(os, "fdatasync", fail)
    with pytest.raises(OSError, match="no disk"):
        DurableLines(tmp_path / "book").append("one")


async def test_what_was_acknowledged_and_is_there_is_counted() -> None:
    assert await check_acknowledged(Told(), [KEY, "added"]) == 2


@pytest.mark.parametrize(("book", "said"), [([KEY, "order#two"], "1 of 2"), ([KEY, KEY], "twice")])
async def test_no_acknowledged_key_is_missed_in_silence(book: list[str], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        await check_acknowledged(Told(), book)


@pytest.mark.parametrize(
    ("ledger", "seen"),
    [
        (Told(), [(1, 7)]),
        (Told(attempt=2, fence=9), [(1, 7), (2, 9)]),
        (Told(attempt=2, fence=9), [(2, 9)]),
        (Told("missed", attempt=0, fence=0), []),
        (Told("dead", attempt=1), []),
    ],
)
async def test_effects_of_counted_attempts_are_fine(ledger: Told, seen: list[tuple[int, int]]) -> None:
    assert await check_effects(ledger, _lines(seen)) == len(seen)


@pytest.mark.parametrize(
    ("ledger", "seen", "said"),
    [
        (Told(), [], "without their effect"),
        (Told(), [(1, 6)], "without their effect"),
        (Told(), [(1, 7), (1, 7)], "does not know of"),
        (Told(), [(1, 7), (2, 9)], "does not know of"),
        (Told(attempt=2, fence=9), [(1, 10), (2, 9)], "does not know of"),
        (Told("missed", attempt=0, fence=0), [(1, 7)], "does not know of"),
    ],
)
async def test_no_effect_too_many_or_too_few_is_passed_over(
    ledger: Told, seen: list[tuple[int, int]], said: str
) -> None:
    with pytest.raises(AssertionError, match=said):
        await check_effects(ledger, _lines(seen))


async def test_an_effect_of_a_run_that_was_not_recorded_is_not_passed_over() -> None:
    with pytest.raises(AssertionError, match="does not know of"):
        await check_effects(Told(), [str(Effect(KEY, 1, 7)), str(Effect("order#two", 1, 8))])


def _lines(seen: list[tuple[int, int]]) -> list[str]:
    return [str(Effect(KEY, attempt, fence)) for attempt, fence in seen]
