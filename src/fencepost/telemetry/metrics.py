"""Metrics for Prometheus: hears the events of this process and counts.

A process has one set of them, begun by the part that shows it: the web, a socket of its own, or the program
that the application is embedded in. What happened before that is not counted. Rendering many series takes
time, so it belongs into a thread and never into the event loop.

In a program of your own, `expose()` puts them beside your own metrics, in the registry of your choice.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping
from threading import Lock
from typing import Any, TypeVar

from prometheus_client import REGISTRY, CollectorRegistry, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from fencepost.model.quotas import Quota
from fencepost.model.run import Origin, RunState
from fencepost.model.status import QueueView, oldest
from fencepost.telemetry import catalogue as known
from fencepost.telemetry import events
from fencepost.telemetry import message_events as messages
from fencepost.telemetry.catalogue import CATALOGUE, LEDGER_GAUGES, Kind, Metric
from fencepost.telemetry.labels import Bounded
from fencepost.telemetry.series import Series
from fencepost.version import VERSION

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
JOBS_MAX = 200
FROM_LEDGER = frozenset(one.name for one in LEDGER_GAUGES)
"""Hidden until they were read once: a worker never reads them, and its 0 would be wrong."""
GAUGES = "gauges"
"""The service that reads them."""
MISSED_READINGS_MAX = 3
"""After this number of failed readings in a row they are hidden: among several processes the largest value
counts, and a process that has lost the store would go on showing old values."""
ALWAYS_TOLD = frozenset((known.READ_AT.name, known.READ_TOOK.name))
"""The time of the last reading is shown even then: the alert about it needs it."""
T = TypeVar("T")


class Metrics(Collector):
    """One set of series, and what is done with them when something happens."""

    def __init__(self, jobs_max: int = JOBS_MAX) -> None:
        self._series = Series(CATALOGUE)
        self._jobs = Bounded(jobs_max)
        self._queues = Bounded(jobs_max)
        self._hidden = FROM_LEDGER
        self._page = CollectorRegistry()
        self._page.register(self)
        ProcessCollector(registry=self._page)
        self._begin()
        count = self._series.add
        self._handlers: dict[type[Any], Callable[[Any], None]] = {
            events.TicksPlanned: lambda event: count(known.PLANNED, by=event.runs),
            events.TicksMissed: lambda event: self._count_job(known.MISSED, event.job, by=event.ticks),
            events.PlanRefused: lambda event: count(known.PLANS_REFUSED),
            events.QuotaRefused: lambda event: count(known.QUOTA_REFUSALS, (event.quota.value,)),
            events.RunClaimed: self._run_claimed,
            events.TickTurnedDown: self._tick_turned_down,
            events.AttemptFinished: self._attempt_finished,
            events.RunEnded: lambda event: self._count_job(known.RUNS, event.job, event.state),
            events.RunRescued: lambda event: count(known.RESCUES, (event.state,)),
            events.RescuesWaited: lambda event: count(known.RESCUES_WAITED),
            events.ClockSetBack: lambda event: count(known.CLOCK_SET_BACK, (event.record,)),
            events.ClockSetAhead: lambda event: count(known.CLOCK_SET_AHEAD),
            events.DuplicateSuppressed: lambda event: count(known.SUPPRESSED, (event.cause,)),
            events.JobsServed: self._jobs_served,
            events.GateClosed: lambda event: count(known.GATES_CLOSING),
            events.LeaseChanged: self._lease_changed,
            events.RenewalFailed: lambda event: count(known.RENEWALS_FAILED),
            events.SkewMeasured: lambda event: self._series.set(known.SKEW, (), event.skew_s),
            events.HeartbeatLate: lambda event: count(known.HEARTBEATS_LATE),
            events.StoreMissed: self._store_missed,
            messages.BrokerMissed: lambda event: count(known.BROKER_FAILURES, (event.service,)),
            messages.MessagesPublished: self._messages_published,
            messages.RepliesTaken: lambda event: count(known.REPLIES, (event.fate,), by=event.replies),
            messages.MessagesTaken: self._messages_taken,
            messages.Redelivered: lambda event: count(
                known.REDELIVERIES, (event.service,), by=event.messages
            ),
            messages.BacklogSeen: lambda event: self._series.set(
                known.BROKER_BACKLOG, (self._queues.of(event.destination),), event.messages
            ),
            events.LedgerMeasured: self._ledger_measured,
            events.RequestRefused: lambda event: count(known.REFUSED_REQUESTS, (event.cause,)),
        }

    def hear(self, event: object) -> None:
        """Something happened."""
        handler = self._handlers.get(type(event))
        if handler is not None:
            handler(event)

    def collect(self) -> Iterator[Family]:
        """The families as a registry wants them."""
        hidden = self._hidden
        return (self._family(one) for one in CATALOGUE if one.name not in hidden)

    def describe(self) -> Iterator[Family]:
        """Their names, also of those that are not shown yet."""
        return (self._family(one) for one in CATALOGUE)

    def render(self) -> bytes:
        """The page that is scraped, with the resources of the process; slow where there are many jobs."""
        return generate_latest(self._page)

    def _family(self, metric: Metric) -> Family:
        if metric.kind is Kind.HISTOGRAM:
            return self._histogram(metric)
        kind = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
        family = kind(metric.name, metric.words, labels=metric.labels)
        for labels, value in self._series.values(metric):
            family.add_metric(labels, value)
        return family

    def _histogram(self, metric: Metric) -> Family:
        family = HistogramMetricFamily(metric.name, metric.words, labels=metric.labels)
        bounds = [*(str(float(bound)) for bound in metric.buckets), "+Inf"]
        for labels, spread in self._series.spreads(metric):
            family.add_metric(labels, list(zip(bounds, spread.cumulative, strict=True)), spread.total)
        return family

    def _begin(self) -> None:
        """Series of closed sets exist from the start, so that their first step is seen."""
        for cause in events.Cause:
            self._series.add(known.SUPPRESSED, (cause.value,), 0)
        for refused in events.RefusedFor:
            self._series.add(known.REFUSED_REQUESTS, (refused.value,), 0)
        for answer in messages.Answer:
            self._series.add(known.MESSAGES_PUBLISHED, (answer.value,), 0)
        for fate in messages.ReplyFate:
            self._series.add(known.REPLIES, (fate.value,), 0)
        for quota in Quota:
            self._series.add(known.QUOTA_REFUSALS, (quota.value,), 0)
        for direction in ("gained", "lost"):
            self._series.add(known.TRANSITIONS, (direction,), 0)
        for state in (RunState.READY, RunState.DEAD, RunState.CANCELLED):
            self._series.add(known.RESCUES, (state.value,), 0)
        self._series.set(known.BUILD, (VERSION, platform.python_version()), 1)

    def _begin_job(self, label: str) -> None:
        """The same for series of a job that should stay at 0."""
        self._series.add(known.RUNS, (label, RunState.DEAD.value), 0)
        self._series.add(known.MISSED, (label,), 0)
        self._series.add(known.BACKFILLED, (label,), 0)

    def _count_job(self, metric: Metric, job: str, *labels: str, by: float = 1) -> None:
        self._series.add(metric, (self._jobs.of(job), *labels), by)

    def _run_claimed(self, event: events.RunClaimed) -> None:
        result = "started" if event.is_first else "retried"
        self._count_job(known.DISPATCHES, event.claim.job, result)
        if event.was_awaited:
            self._series.observe(known.DISPATCH_LAG, (), event.lag_s)
        if event.is_first and event.claim.origin is Origin.BACKFILL:
            self._count_job(known.BACKFILLED, event.claim.job)

    def _tick_turned_down(self, event: events.TickTurnedDown) -> None:
        self._count_job(known.DISPATCHES, event.job, event.state)
        self._count_job(known.RUNS, event.job, event.state)
        if event.state is RunState.MISSED:
            self._count_job(known.MISSED, event.job)

    def _attempt_finished(self, event: events.AttemptFinished) -> None:
        job = self._jobs.of(event.job)
        self._series.add(known.ATTEMPTS, (job, event.state))
        if event.took_s is not None:
            self._series.observe(known.DURATIONS, (job,), event.took_s)

    def _lease_changed(self, event: events.LeaseChanged) -> None:
        self._series.add(known.TRANSITIONS, ("gained" if event.gained else "lost",))
        self._series.set(known.SHARDS_LED, (), event.led)

    def _jobs_served(self, event: events.JobsServed) -> None:
        for job in event.jobs:
            self._begin_job(self._jobs.of(job))

    def _store_missed(self, event: events.StoreMissed) -> None:
        self._series.add(known.STORE_FAILURES, (event.service,))
        if event.service == GAUGES and event.failures >= MISSED_READINGS_MAX:
            self._hidden |= FROM_LEDGER - ALWAYS_TOLD

    def _messages_published(self, event: messages.MessagesPublished) -> None:
        for answer, number in event.answers.items():
            self._series.add(known.MESSAGES_PUBLISHED, (answer.value,), number)

    def _messages_taken(self, event: messages.MessagesTaken) -> None:
        fates = {
            "new": event.new - event.unreadable,
            "repeated": event.repeated,
            "unreadable": event.unreadable,
        }
        for fate, number in fates.items():
            self._series.add(known.MESSAGES_TAKEN, (fate,), number)

    def _ledger_measured(self, event: events.LedgerMeasured) -> None:
        accounted = _merged(event.accounted, self._jobs.of, lambda one, other: one + other)
        complete = _merged(event.complete, self._jobs.of, lambda one, other: one + other)
        for job in accounted:
            self._begin_job(job)
        self._show(known.COMPLETENESS, {job: share.ratio for job, share in complete.items()})
        self._show(known.EXPECTED, {job: share.whole for job, share in complete.items()})
        self._show(known.ACCOUNTED, {job: share.ratio for job, share in accounted.items()})
        self._show_queues(_merged(event.queues, self._queues.of, _together))
        self._show(known.BURN, event.burn_rates)
        self._show(known.NODES, {"planner": event.planners, "worker": event.workers})
        for metric, value in (
            (known.BUDGET, event.budget_left),
            (known.TARGET, event.target),
            (known.DEAD, event.dead),
            (known.GATES, event.gates_closed),
            (known.STUCK, event.stuck),
            (known.UNSERVED, event.unserved),
            (known.SHARDS, event.shards),
            (known.SHARDS_UNLED, event.shards_unled),
            (known.READ_AT, event.at_unix_s),
            (known.READ_TOOK, event.took_s),
        ):
            self._series.set(metric, (), value)
        self._hidden = frozenset()

    def _show_queues(self, queues: dict[str, QueueView]) -> None:
        self._show(known.QUEUE_DEPTH, {name: one.ready for name, one in queues.items()}, gone=0)
        self._show(known.QUEUE_WAITING, {name: one.waiting for name, one in queues.items()}, gone=0)
        self._show(known.QUEUE_RUNNING, {name: one.running for name, one in queues.items()}, gone=0)
        self._show(known.QUEUE_AGE, {name: one.oldest_s or 0 for name, one in queues.items()}, gone=0)

    def _show(self, metric: Metric, values: Mapping[str, float], gone: float | None = None) -> None:
        self._series.show_only(metric, {(label,): value for label, value in values.items()}, gone)


def _merged(
    values: Mapping[Any, T], label_of: Callable[[str], str], merge: Callable[[T, T], T]
) -> dict[str, T]:
    """By label: all values under `_other` are added up."""
    merged: dict[str, T] = {}
    for name, value in values.items():
        label = label_of(name)
        merged[label] = merge(merged[label], value) if label in merged else value
    return merged


def _together(one: QueueView, other: QueueView) -> QueueView:
    return QueueView(
        one.queue,
        one.ready + other.ready,
        one.waiting + other.waiting,
        one.running + other.running,
        oldest((one.oldest_ready_s, other.oldest_ready_s)),
        oldest((one.oldest_waiting_s, other.oldest_waiting_s)),
    )


_beginning = Lock()
_of_process: tuple[Metrics, Callable[[], None]] | None = None


def start_metrics(jobs_max: int = JOBS_MAX) -> Metrics:
    """This process's metrics, which count from the first call on; every call gives the same ones."""
    global _of_process
    with _beginning:
        if _of_process is None:
            metrics = Metrics(jobs_max)
            _of_process = metrics, events.listen(metrics.hear)
        return _of_process[0]


def stop_metrics() -> None:
    """Count no more, and forget what was counted: for tests."""
    global _of_process
    with _beginning:
        if _of_process is not None:
            _of_process[1]()
            _of_process = None


def expose(registry: CollectorRegistry = REGISTRY, *, jobs_max: int = JOBS_MAX) -> Metrics:
    """Show this process's metrics in a registry of your own: the default one of prometheus-client unless you
    say another. Call it once, before the application runs."""
    metrics = start_metrics(jobs_max)
    registry.register(metrics)
    return metrics
