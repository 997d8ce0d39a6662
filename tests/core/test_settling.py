"""From how an attempt ended to what the ledger is told."""

from __future__ import annotations

import pytest

from fencepost.core.outcome import Failed, Interrupted, Overdue, Round, Stopped, Succeeded, settle
from fencepost.errors import Snooze
from fencepost.model.identifiers import DEFAULT_NAMESPACE, Fence, JobName, RunKey
from fencepost.model.job import JobSpec, Retry, error_names
from fencepost.model.run import Outcome, RunState, Ticket

JOB = JobSpec(JobName("report"), retry=Retry(max_attempts=3, base="8s"))
ONCE = JobSpec(JobName("report"), retry=Retry(max_attempts=3), at_most_once=True)
FAILED = Failed("ValueError: no", detail="trace", output="tail")
URGENT = JobSpec(JobName("report"), retry=Retry(max_attempts=3, base="8s", deadline="1m"))


def ticket(attempt: int) -> Ticket:
    return Ticket(DEFAULT_NAMESPACE, RunKey("report#1"), attempt, Fence(9))


def test_success_keeps_the_output_and_nothing_else() -> None:
    assert settle(ticket(1), JOB, Succeeded("42"), 0.5) == Outcome(ticket(1), RunState.SUCCEEDED, output="42")


def test_a_failure_waits_for_its_retry_and_keeps_what_is_known_of_it() -> None:
    assert settle(ticket(1), JOB, FAILED, 0.5) == Outcome(
        ticket(1),
        RunState.READY,
        "waits for a retry",
        "ValueError: no",
        "trace",
        "tail",
        retry_in_s=4.0,
    )


@pytest.mark.parametrize(
    ("attempt", "job", "failed", "reason"),
    [
        (3, JOB, FAILED, "failed 3 of 3 attempts"),
        (1, JOB, Failed("boom", permanent=True), "permanent failure"),
        (1, ONCE, FAILED, "permanent failure"),
    ],
)
def test_a_failure_for_good_is_never_put_back(
    attempt: int, job: JobSpec, failed: Failed, reason: str
) -> None:
    outcome = settle(ticket(attempt), job, failed, 0.5)
    assert (outcome.state, outcome.reason, outcome.retry_in_s) == (RunState.DEAD, reason, None)
    assert outcome.error == failed.error


@pytest.mark.parametrize("job", [JOB, ONCE])
@pytest.mark.parametrize("kind", [Snooze, type("Later", (Snooze,), {})])
def test_a_snooze_is_no_failure_whatever_the_policy_says(job: JobSpec, kind: type[Snooze]) -> None:
    snoozed = Failed("Snooze: not yet", "trace", kinds=error_names(kind), wait_s=90)
    outcome = settle(ticket(3), job, snoozed, 0.5)
    reason = "snoozed for 1m30s: not yet"
    assert outcome == Outcome(ticket(3), RunState.READY, reason, retry_in_s=90, snoozed=True)


@pytest.mark.parametrize(
    ("so_far", "wait_s", "words"),
    [
        (Round(2, 7 * 86_400 - 60), 60.5, "past the 7d that a run may snooze"),
        (Round(1_000, 60), 60, "it has snoozed 1000 times, which is as often as a run may"),
    ],
)
def test_a_run_does_not_snooze_for_ever(so_far: Round, wait_s: float, words: str) -> None:
    snoozed = Failed("Snooze", kinds=error_names(Snooze), wait_s=wait_s)
    outcome = settle(ticket(so_far.attempts_before_replay + 1), JOB, snoozed, 0.5, so_far)
    assert outcome.state is RunState.DEAD
    assert outcome.reason is not None
    assert outcome.reason.endswith(words)
    assert settle(ticket(2), JOB, snoozed, 0.5, Round(1, 7 * 86_400 - 61)).snoozed


def test_a_snooze_of_no_length_spends_an_attempt() -> None:
    outcome = settle(ticket(1), JOB, Failed("Snooze", kinds=error_names(Snooze)), 0.5)
    assert (outcome.snoozed, outcome.reason) == (False, "waits for a retry")


def test_a_snooze_does_not_last_less_than_a_second() -> None:
    assert (
        settle(ticket(1), JOB, Failed("Snooze", kinds=error_names(Snooze), wait_s=0.01), 0.5).retry_in_s == 1
    )


def test_a_run_stopped_on_request_is_not_retried() -> None:
    outcome = settle(ticket(1), JOB, Stopped(), 0.5)
    assert (outcome.state, outcome.retry_in_s) == (RunState.CANCELLED, None)


@pytest.mark.parametrize(
    ("attempt", "job", "state", "retry_in_s"),
    [
        (1, JOB, RunState.READY, 0.0),
        (2, JOB, RunState.READY, 0.0),
        (3, JOB, RunState.DEAD, None),
        (1, ONCE, RunState.DEAD, None),
    ],
)
def test_an_interrupted_run_is_handed_back_only_where_it_may_run_again(
    attempt: int, job: JobSpec, state: RunState, retry_in_s: float | None
) -> None:
    outcome = settle(ticket(attempt), job, Interrupted(), 0.5)
    assert (outcome.state, outcome.retry_in_s) == (state, retry_in_s)
    assert outcome.error == "interrupted: the worker stopped"


@pytest.mark.parametrize("ending", [FAILED, Interrupted()], ids=["failed", "interrupted"])
@pytest.mark.parametrize(
    ("attempt", "attempts_before_replay", "state"),
    [
        (3, 0, RunState.DEAD),
        (4, 3, RunState.READY),
        (5, 3, RunState.READY),
        (6, 3, RunState.DEAD),
        (7, 3, RunState.DEAD),
    ],
)
def test_attempts_from_before_a_replay_do_not_count(
    ending: Failed | Interrupted, attempt: int, attempts_before_replay: int, state: RunState
) -> None:
    assert settle(ticket(attempt), JOB, ending, 0.5, Round(attempts_before_replay)).state is state


def test_the_delay_begins_anew_with_a_replay() -> None:
    assert settle(ticket(4), JOB, FAILED, 0.5, Round(attempts_before_replay=3)).retry_in_s == 4.0


@pytest.mark.parametrize(
    ("ending", "elapsed_s", "reason"),
    [
        (FAILED, 56.0, None),
        (FAILED, 57.0, "the next attempt would begin 61s after the first, past the retry deadline of 1m"),
        (Interrupted(), 60.0, None),
        (
            Interrupted(),
            61.0,
            "interrupted 61s after the first attempt began, past the retry deadline of 1m",
        ),
        (Overdue(), 75.0, "75s after the first attempt began, past the retry deadline of 1m"),
    ],
)
def test_no_attempt_follows_past_the_deadline(
    ending: Failed | Interrupted | Overdue, elapsed_s: float, reason: str | None
) -> None:
    outcome = settle(ticket(1), URGENT, ending, 0.5, Round(elapsed_s=elapsed_s))
    if reason is None:
        assert outcome.state is RunState.READY
    else:
        assert (outcome.state, outcome.reason, outcome.retry_in_s) == (RunState.DEAD, reason, None)
        assert outcome.error


def test_a_failure_waits_as_long_as_it_asks_to() -> None:
    assert settle(ticket(1), JOB, Failed("busy", wait_s=90), 0.5).retry_in_s == 90


def test_a_failure_that_the_policy_excludes_is_not_put_back() -> None:
    job = JobSpec(JobName("report"), retry=Retry(only="OSError"))
    outcome = settle(ticket(1), job, Failed("ValueError: no", kinds=("ValueError", "Exception")), 0.5)
    assert (outcome.state, outcome.reason) == (
        RunState.DEAD,
        "permanent failure: ValueError is not among those to retry",
    )
