"""The accounts of the drill see what they are there to see; one in which nothing happened does not count."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.sinks import DurableLines
from tests.effects import programme
from tests.effects.accounts import Accounts, Found
from tests.effects.drill import Plan
from tests.effects.drill_app import (
    FENCED,
    IN_TRANSACTION,
    ONCE_AT_MOST,
    PLAIN,
    PLAIN_EFFECTS,
    STARTS,
)

HAPPENED: dict[str, Any] = {
    "kills": 10,
    "stalls": 3,
    "rescued": 20,
    "told_lost": 1,
    "overtaken": 1,
    "plain_doubled": 3,
    "lost_for_good": 3,
}


def test_a_drill_in_which_too_little_happened_does_not_count() -> None:
    plan = Plan(dict.fromkeys((IN_TRANSACTION, FENCED, PLAIN, ONCE_AT_MOST), 1), kills=20, stalls=8)
    assert programme.shortcomings(plan, Found(**HAPPENED)) == []
    for word in HAPPENED:
        assert len(programme.shortcomings(plan, Found(**(HAPPENED | {word: 0})))) == 1, word


def accounts(folder: Path, job: str, **row: Any) -> tuple[Accounts, Found]:
    """Of one run, `<job>#1`, with fence 7."""
    run = {"job": job, "state": "succeeded", "reason": None, "fence": 7, "attempt": 1, "spent": 0} | row
    found = Found()
    return Accounts(found, {f"{job}#1": run}, folder), found


def rows(*pairs: tuple[str, int]) -> list[Mapping[str, Any]]:
    return [{"run_key": key, "fence": fence} for key, fence in pairs]


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ([("in-transaction#1", 7)], []),
        ([], ["without their row"]),
        ([("in-transaction#1", 7), ("in-transaction#1", 7)], ["several rows"]),
        ([("in-transaction#1", 6)], ["another attempt"]),
        ([("in-transaction#1", 7), ("in-transaction#2", 8)], ["without a run"]),
    ],
)
def test_no_row_too_many_or_too_few_is_passed_over(
    sent: list[tuple[str, int]], said: list[str], tmp_path: Path
) -> None:
    books, found = accounts(tmp_path, IN_TRANSACTION)
    books.of_rows(rows(*sent))
    assert [words in fault for words, fault in zip(said, found.faults, strict=True)] == [True] * len(said)


@pytest.mark.parametrize(
    ("row", "starts", "faults"),
    [
        ({}, 1, 0),
        ({"state": "dead", "reason": "lost: silent"}, 1, 0),
        ({"state": "dead", "reason": "lost: silent"}, 0, 0),
        ({}, 2, 1),
        ({}, 0, 1),
        ({"attempt": 2}, 1, 1),
        ({"attempt": 2, "spent": 1}, 1, 0),
        ({"state": "dead", "reason": "boom"}, 1, 1),
    ],
)
def test_no_second_start_is_passed_over(
    row: dict[str, Any], starts: int, faults: int, tmp_path: Path
) -> None:
    books, found = accounts(tmp_path, ONCE_AT_MOST, **row)
    for fence in range(starts):
        DurableLines(tmp_path / STARTS).append(f"{ONCE_AT_MOST}#1 {fence}")
    books.of_starts()
    assert len(found.faults) == faults, found


@pytest.mark.parametrize(("latest", "faults"), [([7], 0), ([6], 1), ([], 1)])
def test_no_older_value_is_passed_over(latest: list[int], faults: int, tmp_path: Path) -> None:
    books, found = accounts(tmp_path, FENCED)
    books.of_fences(rows(*((f"{FENCED}#1", fence) for fence in latest)))
    assert len(found.faults) == faults, found


def test_no_run_that_did_not_succeed_is_passed_over(tmp_path: Path) -> None:
    books, found = accounts(tmp_path, PLAIN, state="dead")
    books.of_ends()
    books.of_the_control()
    assert len(found.faults) == 2
    for fence in (6, 7):
        DurableLines(tmp_path / PLAIN_EFFECTS).append(f"{PLAIN}#1 {fence}")
    books.of_the_control()
    assert (len(found.faults), found.plain_doubled) == (2, 1)
