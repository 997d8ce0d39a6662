"""What happened in a history is seen, and what did not is missed."""

from __future__ import annotations

from collections import Counter

from fencepost.model.json import JsonObject
from tests.history.builder import Pen
from tests.history.coverage import REQUIRED, missing, seen
from tests.history.eventful import eventful

CRON_IN_BERLIN: JsonObject = {"v": 1, "kind": "cron", "expression": "30 2 * * *", "tz": "Europe/Berlin"}


def test_an_eventful_history_misses_nothing() -> None:
    assert missing([seen(eventful())], ["crash"]) == []


def test_an_empty_history_misses_everything_that_is_required() -> None:
    assert missing([seen(Pen().close(1))], []) == sorted(REQUIRED)
    assert missing([], ["stall"]) == sorted({*REQUIRED, "fault: stall"})


def test_what_one_history_lacks_another_may_have() -> None:
    names = sorted(REQUIRED)
    halves = [Counter(names[odd::2]) for odd in (0, 1)]
    assert missing(halves, []) == []
    assert missing(halves[:1], []) == sorted(halves[1])


def test_a_fault_that_never_came_is_named() -> None:
    assert missing([seen(eventful())], ["crash", "partition"]) == ["fault: partition"]


def test_a_tick_moved_out_of_a_gap_is_seen() -> None:
    pen = Pen()
    pen.schedule("berlin", CRON_IN_BERLIN)
    pen.plan("berlin", 60)
    assert seen(pen.close(90))["clocks: a tick at the end of a gap"] == 1
