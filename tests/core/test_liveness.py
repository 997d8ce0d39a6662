"""What becomes of a run whose worker went silent."""

from __future__ import annotations

import pytest

from fencepost.core.liveness import rescue
from fencepost.model.identifiers import DEFAULT_NAMESPACE, Fence, JobName, NodeId, RunKey
from fencepost.model.job import JobSpec, Retry
from fencepost.model.rescue import Expired
from fencepost.model.run import RunState, Ticket

JOB = JobSpec(JobName("report"), retry=Retry(max_attempts=3))
ONCE = JobSpec(JobName("report"), retry=Retry(max_attempts=3), at_most_once=True)


def silent(
    attempt: int, job: JobSpec | None, cancel_requested: bool = False, attempts_before_replay: int = 0
) -> Expired:
    ticket = Ticket(DEFAULT_NAMESPACE, RunKey("report#1"), attempt, Fence(9))
    return Expired(ticket, NodeId("alice-1"), 12.34, cancel_requested, job, attempts_before_replay)


@pytest.mark.parametrize(
    ("attempt", "job", "cancel_requested", "state", "reason"),
    [
        (1, JOB, False, RunState.READY, "rescued: worker alice-1 was silent"),
        (2, JOB, False, RunState.READY, "rescued"),
        (3, JOB, False, RunState.DEAD, "lost on attempt 3, the last"),
        (4, JOB, False, RunState.DEAD, "lost on attempt 4"),
        (1, ONCE, False, RunState.DEAD, "the job is at_most_once"),
        (1, None, False, RunState.READY, "rescued"),
        (1, JOB, True, RunState.CANCELLED, "cancelled; worker alice-1 was silent"),
        (1, ONCE, True, RunState.CANCELLED, "cancelled"),
        (3, JOB, True, RunState.CANCELLED, "cancelled"),
    ],
)
def test_a_silent_run_is_mended_by_what_its_job_allows(
    attempt: int, job: JobSpec | None, cancel_requested: bool, state: RunState, reason: str
) -> None:
    mended = rescue(silent(attempt, job, cancel_requested))
    assert (mended.state, mended.retry_in_s) == (state, 0.0)
    assert reason in mended.reason
    assert "12.3s" in mended.reason


@pytest.mark.parametrize(
    ("attempt", "attempts_before_replay", "state"),
    [(4, 3, RunState.READY), (5, 3, RunState.READY), (6, 3, RunState.DEAD), (3, 0, RunState.DEAD)],
)
def test_attempts_from_before_a_replay_do_not_count(
    attempt: int, attempts_before_replay: int, state: RunState
) -> None:
    assert rescue(silent(attempt, JOB, attempts_before_replay=attempts_before_replay)).state is state


def test_a_rescue_names_the_attempt_that_it_takes_away() -> None:
    run = silent(1, JOB)
    assert rescue(run).ticket == run.ticket
