"""The check-up on run keys and retention, and how findings are put together."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fencepost.core.checkup import POINTS, Finding, Point, Severity, check_up, some_of, worst
from fencepost.core.checkup.facts import LedgerSheet
from fencepost.core.checkup.findings import merged
from fencepost.core.checkup.points import CHECKS
from fencepost.model.caveat import Caveat
from fencepost.model.identifiers import ScheduleId
from fencepost.model.policies import CatchUp
from tests.core.sheets import DAY, HOUR, LIMITS, facts, found, is_clean, job, only, rhythm, schedule


def test_a_job_that_takes_its_run_and_a_command_carry_the_key() -> None:
    known = facts(schedule("a"), schedule("b", doing=replace(job("sweep", None), is_command=True)))
    finding = only(Point.RUN_KEY, known)
    assert finding.severity is Severity.OK
    assert finding.reason == (
        "2 jobs are handed the run key; 1 of them are commands, which find it in FENCEPOST_RUN_KEY"
    )


def test_a_function_without_a_run_is_found_with_all_its_schedules() -> None:
    blind = job("send-mail", takes_run=False)
    finding, fine = found(
        Point.RUN_KEY, facts(schedule("a", doing=blind), schedule("b", doing=blind), schedule("c"))
    )
    assert (finding.severity, finding.schedules) == (Severity.WARN, ("a", "b"))
    assert finding.reason.startswith("job send-mail: its function takes no run")
    assert finding.remedy == (
        "take it as the first argument, def work(run: Run, ...), and pass run.key and run.fence on"
    )
    assert fine.reason == "1 job is handed the run key"


def test_a_job_whose_code_is_elsewhere_is_not_called_good() -> None:
    finding = only(Point.RUN_KEY, facts(schedule(doing=job(takes_run=None))))
    assert finding.severity is Severity.UNKNOWN
    assert finding.remedy == "look at the target that has it"


def test_an_empty_target_has_nothing_to_find() -> None:
    assert is_clean(Point.RUN_KEY, facts())
    assert is_clean(Point.RETENTION, facts())


@pytest.mark.parametrize(
    ("lateness", "severity"),
    [("29d", Severity.OK), ("696h1m", Severity.WARN), ("30d", Severity.WARN), ("30d1s", Severity.FAIL)],
)
def test_the_ledger_must_remember_longer_than_a_tick_may_be_late(lateness: str, severity: Severity) -> None:
    finding = only(Point.RETENTION, facts(schedule(catch_up=CatchUp("latest", lateness))))
    assert finding.severity is severity


def test_a_retention_that_is_too_short_names_the_one_that_is_not() -> None:
    known = facts(schedule(catch_up=CatchUp("latest", "40d")))
    finding = only(Point.RETENTION, known)
    assert finding.remedy == 'retention_s = "41d" or more in every process, or a shorter max_lateness'
    mended = replace(known, limits=replace(LIMITS, retention=timedelta(days=41)))
    assert is_clean(Point.RETENTION, mended)


def test_a_tick_that_comes_when_the_one_before_is_forgotten_is_found() -> None:
    finding = only(Point.RETENTION, facts(schedule(every=31 * DAY, catch_up=CatchUp("latest", "1d"))))
    assert finding.severity is Severity.WARN
    assert "run.previous is empty" in finding.reason
    assert finding.remedy == 'retention_s = "62d" or more in every process'


def test_findings_that_say_the_same_are_told_once_and_the_grave_ones_first() -> None:
    one = Finding(Point.DST, Severity.WARN, "x", schedules=(ScheduleId("a"),))
    other = replace(one, schedules=(ScheduleId("b"),))
    fine, grave = Finding(Point.DST, Severity.OK, "y"), Finding(Point.RUN_KEY, Severity.FAIL, "z")
    assert merged([fine, one, other, grave]) == (
        grave,
        replace(one, schedules=(*one.schedules, *other.schedules)),
        fine,
    )


def test_what_is_unknown_is_worse_than_good_and_better_than_a_warning() -> None:
    each = {severity: Finding(Point.DST, severity, "x") for severity in Severity}
    assert worst([]) is Severity.OK
    assert worst([each[Severity.OK], each[Severity.UNKNOWN]]) is Severity.UNKNOWN
    assert worst([each[Severity.WARN], each[Severity.UNKNOWN]]) is Severity.WARN
    assert worst(each.values()) is Severity.FAIL


@pytest.mark.parametrize(
    ("names", "count", "told"),
    [([], 0, ""), (["a"], 1, "a"), (list("abc"), 3, "a, b, c"), (list("abcd"), 9, "a, b, c and 6 more")],
)
def test_a_few_names_stand_for_many(names: list[str], count: int, told: str) -> None:
    assert some_of(names, count) == told


def test_there_are_ten_points_and_each_says_something() -> None:
    assert tuple(CHECKS) == POINTS
    assert len(POINTS) == 10
    assert {one.point for one in check_up(facts(schedule()))} == set(POINTS)


def test_a_server_that_may_forget_what_it_acknowledged_is_found() -> None:
    ledger = LedgerSheet(caveats=(Caveat("PostgreSQL runs with fsync=off", "set fsync = on"),))
    finding = only(Point.RETENTION, facts(schedule(), ledger=ledger))
    assert (finding.severity, finding.remedy) == (Severity.WARN, "set fsync = on")


def test_only_the_points_asked_for_are_looked_at() -> None:
    assert {one.point for one in check_up(facts(schedule()), [Point.RETRY])} == {Point.RETRY}


def test_a_cut_is_told_at_its_point() -> None:
    known = facts(schedule(beat=rhythm(HOUR)), cuts={Point.DST: "7 were not looked at"})
    told = found(Point.DST, known)
    assert [(one.severity, one.reason) for one in told if one.severity is not Severity.OK] == [
        (Severity.UNKNOWN, "7 were not looked at")
    ]
