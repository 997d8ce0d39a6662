"""The check-up on overlap, catch-up and retry, each held against the period."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from fencepost.core.checkup import Point, Severity
from fencepost.model.job import Retry
from fencepost.model.policies import CatchUp, GateTerms, Overlap, parse_overlap
from tests.core.sheets import DAY, HOUR, LIMITS, MINUTE, facts, found, is_clean, job, only, rhythm, schedule

LONG = job(timeout=2 * HOUR)
ENDLESS = job(timeout=None)


@pytest.mark.parametrize(
    "case",
    [
        {},
        {"typical": HOUR},
        {"doing": LONG, "typical": MINUTE},
        {"doing": LONG, "overlap": Overlap.BUFFER_ONE},
        {"doing": LONG, "overlap": Overlap.ALLOW},
        {"doing": LONG, "overlap": parse_overlap("allow(2)")},
        {"doing": LONG, "every": None},
        {"doing": job(timeout=None, retry=Retry(2)), "typical": MINUTE},
        {"overlap": parse_overlap("allow(4)"), "catch_up": CatchUp("parallel(4)")},
        {"overlap": Overlap.ALLOW, "catch_up": CatchUp("parallel(4)")},
        {"every": timedelta(seconds=35), "doing": job(timeout=timedelta(seconds=30))},
    ],
)
def test_no_overlap_is_questioned_that_costs_nothing(case: dict[str, Any]) -> None:
    assert is_clean(Point.OVERLAP, facts(schedule(**case)))


@pytest.mark.parametrize(
    ("case", "reason", "remedy"),
    [
        (
            {"typical": timedelta(seconds=4000.4)},
            "a run takes 1h6m40s, longer than the period of 1h: overlap skip skips the ticks between",
            "overlap buffer_one, allow(n) where runs may be side by side, or a longer period",
        ),
        (
            {"doing": LONG},
            "a run may take 2h, longer than the period of 1h: overlap skip skips the ticks between",
            "overlap buffer_one, allow(n) where runs may be side by side, or a longer period",
        ),
        (
            {"doing": LONG, "overlap": parse_overlap("allow(1)")},
            "a run may take 2h, longer than the period of 1h: overlap allow(1) skips the ticks between",
            "overlap buffer_one, allow(n) where runs may be side by side, or a longer period",
        ),
        (
            {"doing": LONG, "overlap": Overlap.BUFFER_ALL},
            "a run may take 2h, longer than the period of 1h: the buffer only fills",
            "a longer period, or overlap allow(n) where runs may be side by side",
        ),
        (
            {"doing": LONG, "overlap": Overlap.TERMINATE_OTHER},
            "a run may take 2h, longer than the period of 1h: each tick stops the run before it",
            "a longer period, or overlap buffer_one",
        ),
        (
            {"doing": ENDLESS, "typical": MINUTE},
            "its job has no timeout: one run that hangs holds up every later tick",
            "a timeout",
        ),
        (
            {"every": timedelta(seconds=30), "doing": job(timeout=timedelta(seconds=5))},
            (
                "when a worker dies its run is rescued after up to 35s, longer than the period of 30s: "
                "the ticks meanwhile are skipped"
            ),
            "a shorter heartbeat_timeout_s, overlap buffer_one, or allow where runs may be side by side",
        ),
        (
            {"catch_up": CatchUp("parallel(4)")},
            "catch_up parallel(4) never has more than 1 at once: overlap is skip",
            "overlap allow(4), or catch_up sequential",
        ),
    ],
)
def test_an_overlap_that_costs_ticks_is_found(case: dict[str, Any], reason: str, remedy: str) -> None:
    finding = only(Point.OVERLAP, facts(schedule(**case)))
    assert (finding.severity, finding.reason, finding.remedy) == (Severity.WARN, reason, remedy)
    assert finding.schedules == ("beat",)


def test_an_unknown_length_is_not_called_good() -> None:
    finding, fine = found(Point.OVERLAP, facts(schedule(doing=job(timeout=None, retry=Retry(2)))))
    assert (finding.severity, fine.severity) == (Severity.UNKNOWN, Severity.OK)
    assert finding.remedy == "a timeout, or look again when it has run"


@pytest.mark.parametrize(
    "case",
    [
        {},
        {"every": DAY, "catch_up": CatchUp("latest")},
        {"every": DAY, "catch_up": CatchUp("none", "1h")},
        {"every": 23 * HOUR},
        {"every": MINUTE, "catch_up": CatchUp("sequential", "1000m")},
        {"every": MINUTE, "catch_up": CatchUp("latest", "30d")},
        {"every": MINUTE, "catch_up": CatchUp("none", "10m")},
        {"every": MINUTE, "overlap": Overlap.ALLOW, "catch_up": CatchUp("none", "1m")},
        {"beat": replace(rhythm(None), fires=False)},
    ],
)
def test_no_catch_up_is_questioned_that_suits_the_period(case: dict[str, Any]) -> None:
    assert is_clean(Point.CATCH_UP, facts(schedule(**case)))


@pytest.mark.parametrize(
    ("case", "reason", "remedy"),
    [
        (
            {"every": DAY},
            (
                "catch_up none with max_lateness 1m: an outage longer than that loses a tick, "
                "and the next is 1d away"
            ),
            'catch_up = {mode = "latest", max_lateness = "12h"}',
        ),
        (
            {"every": 7 * DAY, "catch_up": CatchUp("latest", "59m")},
            (
                "catch_up latest with max_lateness 59m: an outage longer than that loses a tick, "
                "and the next is 7d away"
            ),
            'catch_up = {mode = "latest", max_lateness = "2d"}',
        ),
        (
            {"every": None},
            "catch_up none with max_lateness 1m: an outage longer than that loses its last tick",
            'catch_up = {mode = "latest", max_lateness = "2d"}',
        ),
        (
            {"catch_up": CatchUp("none", "5s")},
            (
                "max_lateness 5s is not longer than poll_s, 5s: "
                "a tick whose hint is lost is missed although workers are there"
            ),
            "a max_lateness of 15s or more",
        ),
        (
            {"every": MINUTE, "catch_up": CatchUp("sequential", "11m", GateTerms(waiting_max=10))},
            (
                "an outage of its max_lateness, 11m, leaves 11 ticks: "
                "the gate closes at 10 and waits for a person"
            ),
            "a max_lateness of at most 10m, or catch_up latest",
        ),
        (
            {"every": MINUTE, "overlap": Overlap.ALLOW, "catch_up": CatchUp("none", "10m")},
            "after an absence the 10 ticks of max_lateness, 10m, start at once: overlap is allow",
            "catch_up latest, overlap allow(n), or a max_lateness of 1m",
        ),
    ],
)
def test_a_catch_up_that_loses_or_floods_is_found(case: dict[str, Any], reason: str, remedy: str) -> None:
    finding = only(Point.CATCH_UP, facts(schedule(**case)))
    assert (finding.severity, finding.reason, finding.remedy) == (Severity.WARN, reason, remedy)


def test_retries_that_fit_the_period_are_not_found() -> None:
    assert is_clean(Point.RETRY, facts(schedule(doing=job(retry=Retry(5)))))
    assert is_clean(Point.RETRY, facts(schedule(every=None, doing=job(timeout=None, retry=Retry(5)))))


def test_retries_that_outgrow_the_period_are_found_with_the_mend() -> None:
    finding = only(Point.RETRY, facts(schedule(every=2 * MINUTE, doing=job(retry=Retry(2)))))
    assert finding.severity is Severity.WARN
    assert finding.reason == (
        "job report: its retries may go on for 2m5s, longer than the period of 2m, "
        "and overlap skip lets no other tick start meanwhile"
    )
    assert finding.remedy == (
        "a retry deadline of 1m, a shorter cap, fewer attempts, a shorter timeout or overlap allow"
    )


def test_a_schedule_whose_job_or_trigger_is_not_known_is_not_judged_by_its_pace() -> None:
    blind = replace(schedule(doing=LONG), rhythm=None, trouble="not readable")
    orphan = replace(schedule(doing=LONG), job=None)
    known = facts(blind, orphan, limits=LIMITS)
    assert all(is_clean(point, known) for point in (Point.OVERLAP, Point.CATCH_UP, Point.RETRY))
