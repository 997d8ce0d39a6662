"""Until when a worker outside may keep a run, and what its reports come to."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fencepost.core.external_runs import alive_for_s, error_kinds, first_end, is_given_again, settle_report
from fencepost.core.outcome import Failed, Succeeded
from fencepost.core.stuck import why_uncertain
from fencepost.model.clocks import StoreTime, later
from fencepost.model.identifiers import (
    DEFAULT_NAMESPACE,
    Epoch,
    Fence,
    JobName,
    NodeId,
    Queue,
    RunKey,
    deliverer,
    outside_worker,
)
from fencepost.model.job import JobSpec, Retry
from fencepost.model.run import STOPPED_ON_REQUEST, RunRecord, RunState, Ticket

NOW = StoreTime(datetime(2026, 3, 1, 12, tzinfo=UTC))
TICKET = Ticket(DEFAULT_NAMESPACE, RunKey("resize#1"), 1, Fence(7))
JOB = JobSpec(JobName("resize"), retry=Retry(3, "10s", "1m", deadline="1h", never="Broken"))
RUN = RunRecord(
    *(
        DEFAULT_NAMESPACE,
        TICKET.run_key,
        None,
        JOB.name,
        NOW,
        0,
        RunState.RUNNING,
        None,
        1,
        Fence(7),
        Epoch(0),
    ),
    *(NOW, NOW, None, None, None, Queue("default"), 2, {}),
    first_started_at=NOW,
)


@pytest.mark.parametrize(
    ("timeout_s", "elapsed_s", "alive_s"),
    [
        (None, 0, 30),
        (None, 1e6, 30),
        (600, 0, 30),
        (600, 570, 30),
        (600, 571, 29),
        (600, 599.5, 0.5),
        (600, 600, None),
        (600, 601, None),
        (5, 0, 5),
        (600, -3, 30),
    ],
)
def test_no_heartbeat_reaches_beyond_the_timeout(
    timeout_s: float | None, elapsed_s: float, alive_s: float | None
) -> None:
    timeout = None if timeout_s is None else timedelta(seconds=timeout_s)
    end = first_end(replace(JOB, timeout=timeout), NOW, None)
    assert alive_for_s(end, later(NOW, elapsed_s), 30) == alive_s


@pytest.mark.parametrize(
    ("progress_at_s", "elapsed_s", "alive_s"),
    [
        (None, 0, 30),
        (None, 290, 10),
        (None, 300, None),
        (-50, 290, 10),
        (200, 300, 30),
        (200, 495, 5),
        (200, 500, None),
    ],
)
def test_no_heartbeat_reaches_beyond_the_progress_deadline(
    progress_at_s: float | None, elapsed_s: float, alive_s: float | None
) -> None:
    job = replace(JOB, timeout=timedelta(hours=1), progress_deadline=timedelta(minutes=5))
    progress_at = None if progress_at_s is None else later(NOW, progress_at_s)
    end = first_end(job, NOW, progress_at)
    assert end is not None
    assert alive_for_s(end, later(NOW, elapsed_s), 30) == alive_s
    assert end.why == "has said nothing of its progress for 5m"


def test_of_a_timeout_and_a_progress_deadline_the_first_counts() -> None:
    job = replace(JOB, timeout=timedelta(minutes=1), progress_deadline=timedelta(minutes=5))
    end = first_end(job, NOW, later(NOW, 50))
    assert end is not None
    assert (end.at, end.why) == (later(NOW, 60), "is past the job's timeout of 1m")


def test_a_success_is_a_success_also_of_a_run_that_was_asked_to_stop() -> None:
    for run in (RUN, replace(RUN, cancel_requested=True)):
        outcome = settle_report(run, TICKET, JOB, Succeeded("done"), NOW, 0.5)
        assert (outcome.state, outcome.output) == (RunState.SUCCEEDED, "done")


def test_a_failure_is_tried_again_by_the_policy_of_its_job() -> None:
    outcome = settle_report(RUN, TICKET, JOB, Failed("Busy: later"), NOW, 0.5)
    assert (outcome.state, outcome.retry_in_s, outcome.error) == (RunState.READY, 5.0, "Busy: later")
    waiting = settle_report(RUN, TICKET, JOB, Failed("Busy: later", wait_s=40), NOW, 0.5)
    assert waiting.retry_in_s == 40


def test_a_failure_is_not_tried_again_past_the_deadline_or_by_name() -> None:
    late = settle_report(RUN, TICKET, JOB, Failed("Busy"), later(NOW, 3601), 0.5)
    assert late.state is RunState.DEAD
    named = settle_report(RUN, TICKET, JOB, Failed("Broken: x", kinds=error_kinds("Broken: x")), NOW, 0.5)
    assert named.state is RunState.DEAD


def test_a_replayed_run_counts_from_its_replay() -> None:
    third = replace(TICKET, attempt=3)
    assert settle_report(RUN, third, JOB, Failed("x"), NOW, 0.5).state is RunState.DEAD
    assert (
        settle_report(replace(RUN, attempts_before_replay=2), third, JOB, Failed("x"), NOW, 0.5).state
        is RunState.READY
    )


def test_a_failure_after_a_request_to_stop_is_a_stop_that_keeps_its_words() -> None:
    asked = replace(RUN, cancel_requested=True)
    outcome = settle_report(asked, TICKET, JOB, Failed("killed", "trace", permanent=True), NOW, 0.5)
    assert (outcome.state, outcome.reason) == (RunState.CANCELLED, STOPPED_ON_REQUEST)
    assert (outcome.error, outcome.detail) == ("killed", "trace")


def test_a_worker_outside_is_on_no_roster_and_only_its_silence_is_a_sign() -> None:
    inside = replace(RUN, worker=NodeId("host-1"), alive_until=later(NOW, 30))
    outside = replace(inside, worker=outside_worker("w1", "t0"))
    assert why_uncertain(inside, frozenset(), NOW) == "worker host-1 is not alive"
    assert why_uncertain(outside, frozenset(), NOW) is None
    assert "silent" in str(why_uncertain(outside, frozenset(), later(NOW, 31)))


def test_a_run_that_was_sent_is_not_stuck_while_its_processor_shows_life() -> None:
    sent = replace(RUN, worker=deliverer(NodeId("host-1")), alive_until=later(NOW, 30))
    assert why_uncertain(sent, frozenset({NodeId("host-1")}), NOW) is None
    assert why_uncertain(sent, frozenset(), NOW) is None
    assert "silent" in str(why_uncertain(sent, frozenset(), later(NOW, 31)))


@pytest.mark.parametrize(
    ("error", "kinds"),
    [
        ("Busy: try later", ("Busy",)),
        ("Busy", ("Busy",)),
        ("shop.Busy: x", ("shop.Busy", "Busy")),
        ("it broke: x", ()),
        (": x", ()),
        ("a..b: x", ()),
        ("", ()),
    ],
)
def test_a_policy_knows_an_error_by_the_name_it_begins_with(error: str, kinds: tuple[str, ...]) -> None:
    assert error_kinds(error) == kinds


@pytest.mark.parametrize(
    ("at_most_once", "elapsed_s", "alive_until_s", "given"),
    [
        (False, 0, 30, True),
        (False, 29.9, 30, True),
        (False, 30, 30, False),
        (False, 100, 110, True),
        (True, 29.9, 30, True),
        (True, 29.9, 55, True),
        (True, 30, 55, False),
        (True, 30, 30, False),
    ],
)
def test_what_may_have_been_given_up_is_not_given_again(
    at_most_once: bool, elapsed_s: float, alive_until_s: float, given: bool
) -> None:
    run = replace(RUN, alive_until=later(NOW, alive_until_s))
    job = replace(JOB, at_most_once=at_most_once)
    assert is_given_again(run, TICKET, job, later(NOW, elapsed_s), 30) is given


@pytest.mark.parametrize("change", [{"fence": Fence(8)}, {"attempt": 2}, {"state": RunState.READY}])
def test_what_is_another_attempts_by_now_is_not_given_again(change: dict[str, Any]) -> None:
    run = replace(RUN, alive_until=later(NOW, 30), **change)
    assert not is_given_again(run, TICKET, JOB, NOW, 30)
