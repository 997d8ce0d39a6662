"""A schedule is warned where the retries of one tick can keep the next from starting, and only there."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost import Every, Fencepost
from fencepost.core.retry import delay_s
from fencepost.core.retry_window import fitted, outgrows, retry_window
from fencepost.errors import InvalidSpec
from fencepost.model.codec import job_from_text, job_to_text
from fencepost.model.identifiers import JobName
from fencepost.model.job import JobSpec, Retry, RetryWindow
from fencepost.model.policies import OVERLAPS, Overlap, OverlapKind, parse_overlap

MINUTE = timedelta(minutes=1)
ALMOST_ONE = 1 - 2**-53


def job(retry: Retry, timeout: timedelta | None = MINUTE, at_most_once: bool = False) -> JobSpec:
    return JobSpec(JobName("report"), retry=retry, timeout=timeout, at_most_once=at_most_once)


@pytest.mark.parametrize(
    ("retry", "timeout_s", "window_s"),
    [
        (Retry(1), 60, 60),
        (Retry(2, "5s", "1m"), 60, 60 + 5 + 60),
        (Retry(5, "5s", "5m"), 60, 5 * 60 + 5 + 10 + 20 + 40),
        (Retry(5, "5s", "15s"), 60, 5 * 60 + 5 + 10 + 15 + 15),
        (Retry(5, "5s", "5m", deadline="2m"), 60, 120 + 60),
        (Retry(2, "5s", "5m", deadline="10m"), 60, 60 + 5 + 60),
        (Retry(5, "5s", "5m"), None, None),
        (Retry(5, "5s", "5m", deadline="2m"), None, None),
    ],
)
def test_the_window_holds_every_delay_and_every_attempt(
    retry: Retry, timeout_s: float | None, window_s: float | None
) -> None:
    timeout = None if timeout_s is None else timedelta(seconds=timeout_s)
    assert retry_window(retry, timeout) == (None if window_s is None else timedelta(seconds=window_s))


@given(
    attempts=st.integers(1, 1_000),
    base_s=st.integers(0, 86_400),
    more_s=st.integers(0, 864_000),
    timeout_s=st.integers(1, 864_000),
)
def test_no_chance_leads_past_the_window(attempts: int, base_s: int, more_s: int, timeout_s: int) -> None:
    retry = Retry(attempts, base_s, base_s + more_s)
    window = retry_window(retry, timedelta(seconds=timeout_s))
    unlucky_s = sum(delay_s(retry, attempt, ALMOST_ONE) for attempt in range(1, attempts))
    assert window is not None
    assert unlucky_s + attempts * timeout_s <= window.total_seconds() + 1e-3


@pytest.mark.parametrize(
    ("spec", "period"),
    [
        (job(Retry(2, "5s")), timedelta(seconds=125)),
        (job(Retry(5, "5s", deadline="4m")), timedelta(minutes=5)),
        (job(Retry(1)), timedelta(seconds=1)),
        (job(Retry(1), timeout=None), MINUTE),
        (job(Retry(5), timeout=None, at_most_once=True), MINUTE),
    ],
)
def test_no_warning_where_the_retries_fit_or_there_are_none(spec: JobSpec, period: timedelta) -> None:
    assert outgrows(period, spec, Overlap.SKIP) is None


@pytest.mark.parametrize(
    ("spec", "period", "trouble", "remedy"),
    [
        (
            job(Retry(2, "5s")),
            timedelta(seconds=124),
            "its retries may go on for 2m5s, longer than the period of 2m4s",
            "a retry deadline of 1m4s, a shorter cap, fewer attempts, a shorter timeout or overlap allow",
        ),
        (
            job(Retry(2, "5s")),
            MINUTE,
            "its retries may go on for 2m5s, longer than the period of 1m",
            "a timeout shorter than the period, or overlap allow",
        ),
        (
            job(Retry(2, "5s"), timeout=None),
            timedelta(hours=1),
            "it has no timeout, so its retries may outlast the period of 1h",
            "a timeout, or overlap allow",
        ),
    ],
)
def test_a_warning_is_one_line_with_its_mend(
    spec: JobSpec, period: timedelta, trouble: str, remedy: str
) -> None:
    assert outgrows(period, spec, Overlap.SKIP) == (
        f"job report: {trouble}, and overlap skip lets no other tick start meanwhile; fix: {remedy}"
    )


def test_the_deadline_that_is_offered_is_a_mend() -> None:
    warned = job(Retry(5, "5s"))
    assert "a retry deadline of 4m," in (outgrows(timedelta(minutes=5), warned, Overlap.SKIP) or "")
    assert outgrows(timedelta(minutes=5), job(Retry(5, "5s", deadline="4m")), Overlap.SKIP) is None


@pytest.mark.parametrize(
    "overlap", [*OVERLAPS, parse_overlap("allow(1)"), parse_overlap("allow(2)")], ids=str
)
def test_only_a_schedule_that_forbids_overlap_is_warned(overlap: Overlap) -> None:
    allows = overlap.kind is OverlapKind.ALLOW and overlap.number != 1
    assert (outgrows(MINUTE, job(Retry(2)), overlap) is None) == allows


HOURLY = [datetime(2026, 3, 1, hour, tzinfo=UTC) for hour in range(4)]
LONG = Retry(5, "30m", "2h")


def test_a_window_that_outgrows_the_period_is_capped_to_fit() -> None:
    capped = fitted(HOURLY, replace(job(LONG), retry_window=RetryWindow.CAP), Overlap.SKIP)
    assert capped.retry == Retry(5, "30m", "2h", deadline="59m")
    assert outgrows(timedelta(hours=1), capped, Overlap.SKIP) is None
    sooner = replace(job(Retry(5, "30m", "2h", deadline="5m")), retry_window=RetryWindow.CAP)
    assert fitted(HOURLY, sooner, Overlap.SKIP) == sooner


def test_a_window_that_outgrows_the_period_is_refused() -> None:
    with pytest.raises(InvalidSpec, match="retry_window refuse: job report: its retries may go on for"):
        fitted(HOURLY, replace(job(LONG), retry_window=RetryWindow.REFUSE), Overlap.SKIP)


def test_what_no_deadline_can_cap_is_refused() -> None:
    endless = replace(job(LONG, timedelta(hours=1)), retry_window=RetryWindow.CAP)
    with pytest.raises(InvalidSpec, match="a timeout shorter than the period"):
        fitted(HOURLY, endless, Overlap.SKIP)


@pytest.mark.parametrize("policy", list(RetryWindow))
def test_a_window_that_fits_changes_nothing(policy: RetryWindow) -> None:
    short, kept = replace(job(Retry(2)), retry_window=policy), replace(job(LONG), retry_window=policy)
    assert fitted(HOURLY, short, Overlap.SKIP) == short
    assert fitted(HOURLY, kept, Overlap.ALLOW) == kept
    assert fitted(HOURLY[:1], kept, Overlap.SKIP) == kept


def test_a_job_in_code_is_fitted_to_its_schedules() -> None:
    app = Fencepost("memory://")

    @app.job(schedule=Every("1h"), retry=LONG, timeout="1m", retry_window="cap")
    def report() -> None: ...

    (spec,) = app.specs().values()
    assert spec.retry.deadline == timedelta(minutes=59)
    assert job_from_text(job_to_text(spec)) == spec
    with pytest.raises(InvalidSpec, match="fix: a retry deadline of 59m"):

        @app.job(schedule=Every("1h"), retry=LONG, timeout="1m", retry_window="refuse")
        def refused() -> None: ...

    with pytest.raises(InvalidSpec, match='retry_window "never": expected one of warn, cap, refuse'):
        app.job("other", retry_window="never")(lambda: None)  # type: ignore[arg-type]
