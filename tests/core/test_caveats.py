"""What is allowed and yet may surprise is said, and nothing else is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from fencepost.core.caveats import caveats
from fencepost.model.identifiers import JobName
from fencepost.model.job import JobSpec, Retry
from fencepost.model.policies import CatchUp, parse_overlap
from fencepost.model.schedule import ScheduleSpec

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def job(timeout_s: float | None = 60, max_attempts: int = 3) -> JobSpec:
    timeout = None if timeout_s is None else timedelta(seconds=timeout_s)
    return JobSpec(JobName("report"), retry=Retry(max_attempts), timeout=timeout)


def said(job: JobSpec, *gaps_s: float, overlap: str = "skip", catch_up: str = "none") -> list[str]:
    spec = ScheduleSpec(job.name, {}, overlap=parse_overlap(overlap), catch_up=CatchUp(catch_up))
    times = [NOW]
    for gap_s in gaps_s:
        times.append(times[-1] + timedelta(seconds=gap_s))
    return caveats(job, spec, times)


def test_retries_that_outlast_the_shortest_period_are_warned_of() -> None:
    (line,) = said(job(), 86_400, 100, 86_400)
    assert "longer than the period of 1m40s" in line


@pytest.mark.parametrize(
    ("one", "gaps", "overlap"),
    [
        (job(), (86_400, 86_400), "skip"),
        (job(), (100, 100), "allow"),
        (job(max_attempts=1), (10, 10), "skip"),
        (job(None), (3_600, 3_600), "skip"),
        (job(), (), "skip"),
    ],
)
def test_retries_that_fit_or_may_overlap_are_not(one: JobSpec, gaps: tuple[float, ...], overlap: str) -> None:
    assert said(one, *gaps, overlap=overlap) == []


def test_without_a_timeout_the_delays_alone_count() -> None:
    (line,) = said(job(None), 10)
    assert "no timeout" in line


@pytest.mark.parametrize(
    ("overlap", "catch_up", "works_like"),
    [
        ("skip", "parallel(4)", "sequential"),
        ("buffer_all", "parallel(2)", "sequential"),
        ("allow(2)", "parallel(4)", "parallel(2)"),
    ],
)
def test_a_parallel_catch_up_that_overlap_forbids_is_warned_of(
    overlap: str, catch_up: str, works_like: str
) -> None:
    (line,) = said(job(), 86_400, overlap=overlap, catch_up=catch_up)
    assert f"works like {works_like};" in line


@pytest.mark.parametrize(
    ("overlap", "catch_up"),
    [("allow", "parallel(4)"), ("allow(4)", "parallel(4)"), ("skip", "sequential"), ("skip", "parallel(1)")],
)
def test_one_that_it_allows_is_not(overlap: str, catch_up: str) -> None:
    assert said(job(), 86_400, overlap=overlap, catch_up=catch_up) == []
