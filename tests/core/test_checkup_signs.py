"""The check-up on what leaves traces: replay, fencing, changes of the clocks, alerts."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from fencepost.core.checkup import Finding, Point, Severity
from fencepost.core.checkup.alerts import example
from fencepost.core.checkup.facts import (
    Edge,
    Effect,
    FencedOff,
    LastWatch,
    LedgerSheet,
    Paused,
    Replayed,
    Watch,
)
from fencepost.model.identifiers import Fence, NodeId, RunKey
from fencepost.model.run import RunState
from tests.core.sheets import HOUR, NOW, facts, found, job, only, rhythm, schedule

KEY = RunKey("beat#2026-03-01T11:00:00Z#1")


@pytest.mark.parametrize(
    ("ledger", "severity", "reason", "remedy"),
    [
        ({}, Severity.OK, "the ledger holds no dead run that would need it", None),
        (
            {"dead": KEY},
            Severity.WARN,
            f"{KEY} is dead, and no run has ever been replayed here",
            f"find out why it died, then: fencepost runs replay {KEY}",
        ),
        (
            {"dead": KEY, "replayed": Replayed(KEY, "anna", NOW)},
            Severity.OK,
            f"anna replayed {KEY} on 2026-03-01T12:00:00Z",
            None,
        ),
    ],
)
def test_replay_is_good_once_it_was_tried_or_not_needed(
    ledger: dict[str, Any], severity: Severity, reason: str, remedy: str | None
) -> None:
    finding = only(Point.REPLAY, facts(ledger=LedgerSheet(**ledger)))
    assert finding == Finding(Point.REPLAY, severity, reason, remedy)


@pytest.mark.parametrize(
    ("longest_s", "severity", "words"),
    [(3.3, Severity.OK, "at least 3 times"), (3.4, Severity.WARN, "less than 3 times")],
)
def test_leases_are_to_outlast_the_longest_pause_three_times(
    longest_s: float, severity: Severity, words: str
) -> None:
    paused = Paused(NodeId("web-3"), timedelta(seconds=longest_s))
    findings = found(Point.FENCING, facts(ledger=LedgerSheet(paused=paused)))
    (finding,) = (one for one in findings if "web-3" in one.reason)
    assert (finding.severity, words in finding.reason) == (severity, True)
    assert f"stood still for {longest_s}s" in finding.reason
    assert (finding.remedy or "").startswith("lease_ttl_s = 11 or more") is (severity is Severity.WARN)


@pytest.mark.parametrize("point", [Point.REPLAY, Point.FENCING])
def test_without_a_store_nothing_of_the_past_is_called_good(point: Point) -> None:
    finding = only(point, facts(unasked="there is no store yet"))
    assert finding.severity is Severity.UNKNOWN
    assert finding.reason == "there is no store yet: what has happened cannot be seen"
    assert finding.remedy


def test_fencing_is_good_only_where_it_was_seen() -> None:
    seen = FencedOff(KEY, Fence(3), Fence(8))
    finding = only(Point.FENCING, facts(ledger=LedgerSheet(fenced_off=seen, runs_read=9)))
    assert finding.severity is Severity.OK
    assert "under fence 3 lost its run, whose fence is now 8" in finding.reason


@pytest.mark.parametrize(
    ("runs_read", "reason"),
    [(0, "nothing has run here yet"), (9, "the ledger remembers no run that was taken from a silent worker")],
)
def test_fencing_that_was_not_seen_is_unknown_and_can_be_rehearsed(runs_read: int, reason: str) -> None:
    finding = only(Point.FENCING, facts(ledger=LedgerSheet(runs_read=runs_read)))
    assert (finding.severity, finding.reason) == (Severity.UNKNOWN, reason)
    assert finding.remedy is not None
    assert "kill -STOP the worker that has it, wait 35s, kill -CONT it" in finding.remedy


@pytest.mark.parametrize(
    ("effect", "severity", "remedy"),
    [
        (Effect.SKIPPED, Severity.WARN, "the policy gap shift"),
        (Effect.DOUBLED, Severity.WARN, "the policy fold first"),
        (Effect.MOVED, Severity.OK, None),
        (Effect.UNTOLD, Severity.UNKNOWN, "fencepost next"),
    ],
)
def test_an_edge_is_listed_and_a_lost_or_doubled_tick_needs_a_decision(
    effect: Effect, severity: Severity, remedy: str | None
) -> None:
    edge = Edge(effect, "On 2026-03-29 the clocks go.")
    told = found(Point.DST, facts(schedule(beat=rhythm(HOUR, edges=[edge]))))
    (finding,) = (one for one in told if one.schedules)
    assert (finding.severity, finding.reason) == (severity, "On 2026-03-29 the clocks go")
    assert (remedy or "") in (finding.remedy or "")
    assert any("no tick of the next year" in one.reason for one in told) == (severity is not Severity.WARN)


def test_a_trigger_that_cannot_be_read_is_not_called_good() -> None:
    blind = replace(schedule(), rhythm=None, trouble="calendar de: is not in this target")
    finding = found(Point.DST, facts(blind))[0]
    assert (finding.severity, finding.schedules) == (Severity.UNKNOWN, ("beat",))
    assert "calendar de: is not in this target" in finding.reason


def watching(*watches: Watch) -> Any:
    return schedule("guard", doing=replace(job("guard"), watches=frozenset(watches)))


def test_alerts_that_cannot_be_seen_are_unknown_with_a_schedule_to_copy() -> None:
    told = found(Point.ALERTS, facts(schedule()))
    assert [one.severity for one in told] == [Severity.UNKNOWN, Severity.UNKNOWN]
    assert ["fencepost audit" in one.reason for one in told] == [True, False]
    assert [one.example for one in told] == [example(watch) for watch in Watch]


@pytest.mark.parametrize("watch", Watch)
def test_the_schedule_to_copy_is_toml(watch: Watch) -> None:
    read = tomllib.loads(example(watch))
    ((name, table),) = read["schedules"].items()
    assert table["job"] == name
    assert f"fencepost {watch}" in " ".join(read["jobs"][name]["command"])
    assert read["jobs"][name]["retry"] == {"max_attempts": 1}


def test_a_schedule_that_watches_is_good() -> None:
    told = found(Point.ALERTS, facts(watching(*Watch)))
    assert [(one.severity, one.reason) for one in told] == [
        (Severity.OK, "fencepost audit is run by guard"),
        (Severity.OK, "fencepost status is run by guard"),
    ]
    seen = found(Point.ALERTS, facts(watching(*Watch), ledger=LedgerSheet()))
    assert all(one.reason.endswith("no run of it ended in the last day") for one in seen)


@pytest.mark.parametrize(
    ("state", "severity"), [(RunState.SUCCEEDED, Severity.OK), (RunState.DEAD, Severity.WARN)]
)
def test_what_the_last_audit_said_counts_more_than_that_there_is_one(
    state: RunState, severity: Severity
) -> None:
    ledger = LedgerSheet(watched={Watch.COMPLETENESS: LastWatch(KEY, state, NOW)})
    told = found(Point.ALERTS, facts(watching(*Watch), ledger=ledger))
    (finding,) = (one for one in told if KEY in one.reason)
    assert finding.severity is severity
    if state is RunState.DEAD:
        assert finding.remedy == f"see what it said: fencepost runs show {KEY}"
