"""Point 10: whether an alert tells of a tick that is not accounted for, and of a queue that falls behind.

The check-up does not look for metrics. It looks for a schedule that runs `fencepost audit` or `fencepost
status`, whose failure is then a dead run like any other, and reads in the ledger how its last run ended. It
cannot see an alert from elsewhere, such as a crontab: so the absence of a schedule is `unknown`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.core.checkup.facts import Facts, LastWatch, Watch
from fencepost.core.checkup.findings import Finding, Point, Severity, some_of
from fencepost.model.run import RunState
from fencepost.model.times import to_utc_text

JOB_NAMES = {Watch.COMPLETENESS: "fencepost-audit", Watch.LAG: "fencepost-lag"}
"""What the proposed jobs are called; a job of that name is taken to be one, wherever its code is."""

SUBJECTS = {Watch.COMPLETENESS: "a tick that is not accounted for", Watch.LAG: "a queue that falls behind"}

COMMANDS = {
    Watch.COMPLETENESS: '["fencepost", "audit"]',
    Watch.LAG: '["sh", "-c", "fencepost status --json | jq -e \'(.queue.oldest_ready_s // 0) < 60\'"]',
}

CRONS = {Watch.COMPLETENESS: "17 * * * *", Watch.LAG: "*/5 * * * *"}


def alerts(facts: Facts) -> Iterator[Finding]:
    """One finding for completeness and one for lag."""
    for watch in Watch:
        yield _watched(facts, watch)


def _watched(facts: Facts, watch: Watch) -> Finding:
    last = None if facts.ledger is None else facts.ledger.watched.get(watch)
    if last is not None:
        return _seen(watch, last)
    schedules = [one.schedule_id for one in facts.schedules if one.job and watch in one.job.watches]
    if schedules:
        seen = "" if facts.ledger is None else ", and no run of it ended in the last day"
        told = f"fencepost {watch} is run by {some_of(schedules, len(schedules))}{seen}"
        return Finding(Point.ALERTS, Severity.OK, told)
    return Finding(
        Point.ALERTS,
        Severity.UNKNOWN,
        f"no alert for {SUBJECTS[watch]} can be seen: no job here runs fencepost {watch}",
        f"run fencepost {watch} regularly, and have an exit code other than 0 reported: by a schedule as "
        "below, with FENCEPOST_STORE in its environment, or by a line in a crontab elsewhere",
        example=example(watch),
    )


def _seen(watch: Watch, last: LastWatch) -> Finding:
    at = to_utc_text(last.finished_at)
    if last.state is RunState.SUCCEEDED:
        return Finding(Point.ALERTS, Severity.OK, f"fencepost {watch} succeeded on {at}: {last.run_key}")
    return Finding(
        Point.ALERTS,
        Severity.WARN,
        f"fencepost {watch} ended {last.state} on {at}: {last.run_key}",
        f"see what it said: fencepost runs show {last.run_key}",
    )


def example(watch: Watch) -> str:
    """The tables of a fencepost.toml that run the command and fail with it."""
    name = JOB_NAMES[watch]
    return "\n".join(
        [
            f"[jobs.{name}]",
            f"command = {COMMANDS[watch]}",
            'timeout = "4m"',
            "retry = {max_attempts = 1}",
            "",
            f"[schedules.{name}]",
            f'job = "{name}"',
            f'cron = "{CRONS[watch]}"',
        ]
    )
