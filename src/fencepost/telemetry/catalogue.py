"""Every metric of Fencepost: its name, its kind, its labels, its help.

Labels are bounded: a job or a queue beyond the limit is `_other`, causes and states are closed sets, and no
label is ever a run's key. Names that begin with `fencepost_` are Fencepost's own; the others are promised to
people who build boards and alerts.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

LAG_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
"""From 5 ms, which is prompt, to 10 min, which is an outage."""
DURATION_BUCKETS_S = (0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 1800, 3600, 7200, 21600)
"""From 10 ms to 6 h; there is a set of them for each job."""


class Kind(StrEnum):
    """What Prometheus calls the type."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Metric(NamedTuple):
    """One family of series."""

    name: str
    kind: Kind
    labels: tuple[str, ...]
    words: str
    buckets: tuple[float, ...] = ()


def _counter(name: str, words: str, *labels: str) -> Metric:
    return Metric(name, Kind.COUNTER, labels, words)


def _gauge(name: str, words: str, *labels: str) -> Metric:
    return Metric(name, Kind.GAUGE, labels, words)


DISPATCHES = _counter(
    "scheduler_dispatch_total",
    "Due runs that were decided on: started, retried, skipped or missed",
    *("job_id", "result"),
)
DISPATCH_LAG = Metric(
    "scheduler_dispatch_lag_seconds",
    Kind.HISTOGRAM,
    (),
    "How long after it was due the first attempt of a live run began, by the store's clock",
    LAG_BUCKETS_S,
)
RUNS = _counter("job_run_total", "Runs that ended, by their last state", "job_id", "status")
DURATIONS = Metric(
    "job_run_duration_seconds",
    Kind.HISTOGRAM,
    ("job_id",),
    "How long an attempt took, whether it succeeded or not",
    DURATION_BUCKETS_S,
)
SUPPRESSED = _counter(
    "job_duplicate_suppressed_total",
    "Writes that would have done something twice and changed nothing: an old epoch or fence, a known key",
    "cause",
)
BACKFILLED = _counter(
    "job_backfill_total", "Runs of backfills that were begun, new and replayed ones", "job_id"
)
MISSED = _counter(
    "job_missed_total", "Ticks that no worker ran in time, with those counted as ranges", "job_id"
)
COMPLETENESS = _gauge(
    "run_completeness", "The share of the runs expected in the last 24 hours that have succeeded", "job_id"
)
EXPECTED = _gauge(
    "run_expected", "Runs expected in the last 24 hours: those due, without withdrawn ones", "job_id"
)
ACCOUNTED = _gauge(
    "run_accounted", "The share of the runs due in the last 24 hours that have ended, however", "job_id"
)
ATTEMPTS = _counter(
    "fencepost_attempts_total", "Attempts whose report was taken, by the run's next state", "job_id", "state"
)
PLANNED = _counter("fencepost_runs_planned_total", "Runs that were written ahead of time")
PLANS_REFUSED = _counter("fencepost_plans_refused_total", "Plans refused because the epoch was stale")
QUOTA_REFUSALS = _counter(
    "fencepost_quota_refusals_total",
    "Times that a namespace asked for more than its quota: refused, or its ticks planned later",
    "quota",
)
RESCUES = _counter("fencepost_runs_rescued_total", "Runs taken from workers that showed no life", "state")
RESCUES_WAITED = _counter(
    "fencepost_rescues_waited_total",
    "Times that all owners of runs got a heartbeat timeout more, because the store or the fleet was away",
)
CLOCK_SET_BACK = _counter(
    "fencepost_clock_set_back_total",
    "Times that leases or heartbeats lay in the future, because the clock of their store was set back",
    "record",
)
CLOCK_SET_AHEAD = _counter(
    "fencepost_clock_set_ahead_total",
    "Times that this node saw the clock of the store go ahead by more than 30 s",
)
GATES_CLOSING = _counter("fencepost_gate_closings_total", "Times that a catch-up gate closed")
TRANSITIONS = _counter(
    "fencepost_lease_transitions_total", "Shards that this node gained or lost", "direction"
)
RENEWALS_FAILED = _counter(
    "fencepost_lease_renewal_failures_total", "Renewals that were refused or had no answer"
)
SHARDS_LED = _gauge("fencepost_shards_led", "Shards that this node leads")
SKEW = _gauge("fencepost_clock_skew_seconds", "This host's wall clock minus the store's")
HEARTBEATS_LATE = _counter(
    "fencepost_heartbeats_late_total", "Heartbeats that the ledger did not answer in time"
)
STORE_FAILURES = _counter(
    "fencepost_store_failures_total", "Passes of a service for which the store was away", "service"
)
BROKER_FAILURES = _counter(
    "fencepost_broker_failures_total", "Passes of a service for which the message broker was away", "service"
)
MESSAGES_PUBLISHED = _counter(
    "fencepost_messages_published_total", "Runs that were sent, by the broker's answer", "answer"
)
BROKER_BACKLOG = _gauge(
    "fencepost_broker_backlog", "Messages that wait for a processor or an intake", "destination"
)
REPLIES = _counter("fencepost_replies_total", "Replies of processors, by what became of them", "fate")
MESSAGES_TAKEN = _counter(
    "fencepost_messages_taken_total", "Messages of intakes, by what became of them", "fate"
)
REDELIVERIES = _counter(
    "fencepost_redeliveries_total",
    "Messages that came again because they had not been acknowledged",
    "service",
)
REFUSED_REQUESTS = _counter(
    "fencepost_web_refused_total", "Requests refused and connections closed by the limits of the web", "cause"
)
QUEUE_DEPTH = _gauge("fencepost_queue_depth", "Runs that are due and wait for a worker", "queue")
QUEUE_WAITING = _gauge(
    "fencepost_queue_waiting", "Runs that are due and wait for limits of their job", "queue"
)
QUEUE_RUNNING = _gauge("fencepost_queue_running", "Runs in progress", "queue")
QUEUE_AGE = _gauge(
    "fencepost_queue_oldest_seconds",
    "How long the oldest run of a queue has been due, 0 without any",
    "queue",
)
DEAD = _gauge("fencepost_dead_letters", "Dead runs that wait for a person, counted up to 10,000")
GATES = _gauge("fencepost_gates_closed", "Catch-up gates that wait for a person")
STUCK = _gauge("fencepost_stuck_runs", "Runs that were started and do not get on")
UNSERVED = _gauge(
    "fencepost_schedules_unserved",
    "Active schedules whose job no running process has, counted up to 100",
)
SHARDS = _gauge("fencepost_shards", "Into how many shards the schedules are cut")
SHARDS_UNLED = _gauge("fencepost_shards_unled", "Shards that no live node reports to lead")
NODES = _gauge("fencepost_nodes", "Live nodes, by what they do", "role")
BURN = _gauge(
    "fencepost_completeness_burn_rate",
    "How many times faster than the target allows expected runs did not succeed over the window",
    "window",
)
BUDGET = _gauge("fencepost_completeness_budget_left", "The share of the last day's error budget that is left")
TARGET = _gauge("fencepost_completeness_target", "The share of expected runs that should succeed")
READ_AT = _gauge("fencepost_ledger_read_timestamp_seconds", "When this process last read the ledger's gauges")
READ_TOOK = _gauge("fencepost_ledger_read_seconds", "How long that reading took")
BUILD = _gauge("fencepost_build_info", "1, with what runs here", "version", "python")

LEDGER_GAUGES = (
    *(COMPLETENESS, EXPECTED, ACCOUNTED),
    *(QUEUE_DEPTH, QUEUE_WAITING, QUEUE_RUNNING, QUEUE_AGE, DEAD, GATES, STUCK, UNSERVED),
    *(SHARDS, SHARDS_UNLED, NODES, BURN, BUDGET, TARGET, READ_AT, READ_TOOK),
)
"""What is read from the ledger now and then, the same in every process that reads."""
CATALOGUE: tuple[Metric, ...] = (
    *(DISPATCHES, DISPATCH_LAG, RUNS, DURATIONS, SUPPRESSED, BACKFILLED, MISSED, COMPLETENESS),
    *(EXPECTED, ACCOUNTED),
    *(
        ATTEMPTS,
        PLANNED,
        PLANS_REFUSED,
        QUOTA_REFUSALS,
        RESCUES,
        RESCUES_WAITED,
        CLOCK_SET_BACK,
        CLOCK_SET_AHEAD,
        GATES_CLOSING,
    ),
    *(TRANSITIONS, RENEWALS_FAILED, SHARDS_LED, SKEW, HEARTBEATS_LATE, STORE_FAILURES),
    *(BROKER_FAILURES, MESSAGES_PUBLISHED, BROKER_BACKLOG, REPLIES, MESSAGES_TAKEN, REDELIVERIES),
    REFUSED_REQUESTS,
    *(QUEUE_DEPTH, QUEUE_WAITING, QUEUE_RUNNING, QUEUE_AGE, DEAD, GATES, STUCK, UNSERVED),
    *(SHARDS, SHARDS_UNLED, NODES, BURN, BUDGET, TARGET, READ_AT, READ_TOOK, BUILD),
)
