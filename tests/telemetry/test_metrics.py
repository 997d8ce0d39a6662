"""Every event moves its series, labels stay bounded, and the page says what the catalogue promises."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import pytest
from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import (
    DEFAULT_NAMESPACE,
    Epoch,
    Fence,
    JobName,
    Queue,
    RunKey,
    ScheduleId,
    Shard,
)
from fencepost.model.quotas import Quota
from fencepost.model.run import Claim, Origin, RunState, Ticket
from fencepost.model.status import QueueView
from fencepost.telemetry import events
from fencepost.telemetry import message_events as messages
from fencepost.telemetry.catalogue import CATALOGUE, LEDGER_GAUGES, Kind
from fencepost.telemetry.events import Cause, LedgerMeasured, Share
from fencepost.telemetry.metrics import (
    ALWAYS_TOLD,
    GAUGES,
    MISSED_READINGS_MAX,
    Metrics,
    expose,
    start_metrics,
    stop_metrics,
)

NS = DEFAULT_NAMESPACE
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
JOB, BEAT, KEY = JobName("report"), ScheduleId("beat"), RunKey("beat#2026-03-01T12:00:00Z#1")
TICKET = Ticket(NS, KEY, 1, Fence(5))
CLAIM = Claim(
    NS, KEY, BEAT, JOB, NOW, 1, 1, Fence(5), Epoch(1), {}, NOW, StoreTime(NOW + timedelta(seconds=0.02))
)
MEASURED = LedgerMeasured(
    at_unix_s=1_000.0,
    took_s=0.25,
    accounted={JOB: Share(3, 4)},
    complete={JOB: Share(2, 4)},
    burn_rates={"1h": 2.0, "6h": 0.5},
    budget_left=0.5,
    target=0.999,
    queues={Queue("mail"): QueueView(Queue("mail"), 3, 2, 1, 40.0)},
    dead=4,
    gates_closed=1,
    stuck=2,
    unserved=6,
    shards=8,
    shards_unled=3,
    planners=2,
    workers=5,
)

DISPATCHED = "scheduler_dispatch_total{job_id=report,result=%s}"
RAN = "job_run_total{job_id=report,status=%s}"
MOVES: list[tuple[Any, dict[str, float | None]]] = [
    (events.TicksPlanned(12, 2), {"fencepost_runs_planned_total": 12}),
    (events.TicksMissed(NS, BEAT, JOB, 40, "late"), {"job_missed_total{job_id=report}": 40}),
    (events.PlanRefused(Shard(1), Epoch(2)), {"fencepost_plans_refused_total": 1}),
    (
        events.QuotaRefused(Quota.SCHEDULES),
        {"fencepost_quota_refusals_total{quota=schedules}": 1},
    ),
    (
        events.RunClaimed(CLAIM),
        {
            DISPATCHED % "started": 1,
            "scheduler_dispatch_lag_seconds_count": 1,
            "scheduler_dispatch_lag_seconds_bucket{le=0.01}": 0,
            "scheduler_dispatch_lag_seconds_bucket{le=0.025}": 1,
        },
    ),
    (events.RunClaimed(replace(CLAIM, attempt=2)), {DISPATCHED % "retried": 1}),
    (events.RunClaimed(replace(CLAIM, attempt=4, attempts_before_replay=3)), {DISPATCHED % "started": 1}),
    (
        events.TickTurnedDown(NS, BEAT, KEY, JOB, RunState.SKIPPED, "busy"),
        {DISPATCHED % "skipped": 1, RAN % "skipped": 1},
    ),
    (
        events.TickTurnedDown(NS, BEAT, KEY, JOB, RunState.MISSED, "late"),
        {DISPATCHED % "missed": 1, RAN % "missed": 1, "job_missed_total{job_id=report}": 1},
    ),
    (
        events.AttemptFinished(TICKET, JOB, RunState.READY, 0.7),
        {
            "fencepost_attempts_total{job_id=report,state=ready}": 1,
            "job_run_duration_seconds_count{job_id=report}": 1,
            "job_run_duration_seconds_bucket{job_id=report,le=1.0}": 1,
            "job_run_duration_seconds_bucket{job_id=report,le=0.5}": 0,
        },
    ),
    (events.RunEnded(NS, KEY, JOB, RunState.DEAD), {RAN % "dead": 1}),
    (events.RunRescued(TICKET, None, RunState.READY, 31.0), {"fencepost_runs_rescued_total{state=ready}": 1}),
    (events.RescuesWaited(59.0), {"fencepost_rescues_waited_total": 1}),
    (events.ClockSetBack("leases", 3600.0), {"fencepost_clock_set_back_total{record=leases}": 1}),
    (events.ClockSetAhead(3600.0), {"fencepost_clock_set_ahead_total": 1}),
    (events.DuplicateSuppressed(Cause.FENCE), {"job_duplicate_suppressed_total{cause=fence}": 1}),
    (events.RunClaimed(replace(CLAIM, origin=Origin.BACKFILL)), {"job_backfill_total{job_id=report}": 1}),
    (
        events.RunClaimed(replace(CLAIM, origin=Origin.BACKFILL, attempt=2)),
        {DISPATCHED % "retried": 1, "job_backfill_total{job_id=report}": None},
    ),
    (
        events.JobsServed((JOB,)),
        {
            "job_missed_total{job_id=report}": 0,
            "job_backfill_total{job_id=report}": 0,
            RAN % "dead": 0,
        },
    ),
    (events.GateClosed(NS, BEAT, "too many"), {"fencepost_gate_closings_total": 1}),
    (
        events.LeaseChanged(Shard(1), Epoch(1), True, "granted", 3),
        {"fencepost_lease_transitions_total{direction=gained}": 1, "fencepost_shards_led": 3},
    ),
    (
        events.LeaseChanged(Shard(1), Epoch(1), False, "resigned", 2),
        {"fencepost_lease_transitions_total{direction=lost}": 1, "fencepost_shards_led": 2},
    ),
    (events.RenewalFailed(Shard(1), "no answer"), {"fencepost_lease_renewal_failures_total": 1}),
    (events.SkewMeasured(-0.25), {"fencepost_clock_skew_seconds": -0.25}),
    (events.HeartbeatLate(3), {"fencepost_heartbeats_late_total": 1}),
    (events.RequestRefused(events.RefusedFor.BUSY), {"fencepost_web_refused_total{cause=busy}": 1}),
    (events.StoreMissed("planner", 2), {"fencepost_store_failures_total{service=planner}": 1}),
    (messages.BrokerMissed("deliverer", 2), {"fencepost_broker_failures_total{service=deliverer}": 1}),
    (
        messages.MessagesPublished("nats", {messages.Answer.CONFIRMED: 5, messages.Answer.REFUSED: 1}),
        {
            "fencepost_messages_published_total{answer=confirmed}": 5,
            "fencepost_messages_published_total{answer=refused}": 1,
            "fencepost_messages_published_total{answer=unconfirmed}": 0,
        },
    ),
    (
        messages.RepliesTaken(messages.ReplyFate.LATE, 2),
        {"fencepost_replies_total{fate=late}": 2, "fencepost_replies_total{fate=unknown}": 0},
    ),
    (
        messages.MessagesTaken("orders", new=5, repeated=2, unreadable=1),
        {
            "fencepost_messages_taken_total{fate=new}": 4,
            "fencepost_messages_taken_total{fate=repeated}": 2,
            "fencepost_messages_taken_total{fate=unreadable}": 1,
        },
    ),
    (messages.Redelivered("replies", 3), {"fencepost_redeliveries_total{service=replies}": 3}),
    (messages.BacklogSeen("thumbs", 9), {"fencepost_broker_backlog{destination=thumbs}": 9}),
    (
        MEASURED,
        {
            "run_completeness{job_id=report}": 0.5,
            "run_expected{job_id=report}": 4,
            "run_accounted{job_id=report}": 0.75,
            "fencepost_schedules_unserved": 6,
            "fencepost_completeness_burn_rate{window=1h}": 2.0,
            "fencepost_completeness_burn_rate{window=6h}": 0.5,
            "fencepost_completeness_budget_left": 0.5,
            "fencepost_completeness_target": 0.999,
            "fencepost_queue_depth{queue=mail}": 3,
            "fencepost_queue_waiting{queue=mail}": 2,
            "fencepost_queue_running{queue=mail}": 1,
            "fencepost_queue_oldest_seconds{queue=mail}": 40,
            "fencepost_dead_letters": 4,
            "fencepost_gates_closed": 1,
            "fencepost_stuck_runs": 2,
            "fencepost_shards": 8,
            "fencepost_shards_unled": 3,
            "fencepost_nodes{role=planner}": 2,
            "fencepost_nodes{role=worker}": 5,
            "fencepost_ledger_read_timestamp_seconds": 1_000.0,
            "fencepost_ledger_read_seconds": 0.25,
            "job_missed_total{job_id=report}": 0,
            RAN % "dead": 0,
        },
    ),
]


def page(metrics: Metrics) -> dict[str, float]:
    """Every sample by its name and labels."""
    return {
        _shown(sample.name, sample.labels): sample.value
        for family in text_string_to_metric_families(metrics.render().decode())
        for sample in family.samples
    }


def _shown(name: str, labels: dict[str, str]) -> str:
    inner = ",".join(f"{label}={value}" for label, value in sorted(labels.items()))
    return f"{name}{{{inner}}}" if inner else name


@pytest.mark.parametrize(("event", "moved"), MOVES)
def test_an_event_moves_its_series(event: Any, moved: dict[str, float | None]) -> None:
    """None stands for a series that is not moved, and so not there."""
    metrics = Metrics()
    metrics.hear(event)
    found = page(metrics)
    assert {name: found.get(name) for name in moved} == moved


def test_no_kind_of_event_is_left_out() -> None:
    assert {type(event) for event, _ in MOVES} == set(get_args(events.Event))


def test_no_run_key_is_ever_on_the_page() -> None:
    metrics = Metrics()
    for event, _ in MOVES:
        metrics.hear(event)
    assert str(KEY) not in metrics.render().decode()


def test_every_family_has_the_labels_of_the_catalogue_and_no_other_is_there() -> None:
    metrics = Metrics()
    for event, _ in MOVES:
        metrics.hear(event)
    found: dict[str, tuple[str, set[str]]] = {}
    for family in text_string_to_metric_families(metrics.render().decode()):
        labels = {label for sample in family.samples for label in sample.labels} - {"le"}
        name = f"{family.name}_total" if family.type == "counter" else family.name
        if not name.startswith("process_"):
            found[name] = family.type, labels
    assert found == {one.name: (str(one.kind), set(one.labels)) for one in CATALOGUE}


def test_jobs_beyond_the_bound_are_one_and_the_first_keep_their_names() -> None:
    metrics = Metrics(jobs_max=3)
    for number in range(10):
        metrics.hear(events.RunEnded(NS, KEY, JobName(f"job-{number}"), RunState.SUCCEEDED))
    metrics.hear(events.RunEnded(NS, KEY, JobName("job-1"), RunState.SUCCEEDED))
    found = {name: value for name, value in page(metrics).items() if name.startswith("job_run_total")}
    assert found == {
        "job_run_total{job_id=_other,status=succeeded}": 7,
        "job_run_total{job_id=job-0,status=succeeded}": 1,
        "job_run_total{job_id=job-1,status=succeeded}": 2,
        "job_run_total{job_id=job-2,status=succeeded}": 1,
    }


@pytest.mark.parametrize("event", [event for event, _ in MOVES])
def test_no_event_makes_more_series_than_the_bound_allows(event: Any) -> None:
    metrics = Metrics(jobs_max=2)
    for number in range(6):
        metrics.hear(_of_another_job(event, JobName(f"job-{number}")))
    families = text_string_to_metric_families(metrics.render().decode())
    labels = {sample.labels.get("job_id") for family in families for sample in family.samples}
    assert labels - {None} in (set(), {"job-0", "job-1", "_other"})


def _of_another_job(event: Any, job: JobName) -> Any:
    match event:
        case events.RunClaimed():
            return replace(event, claim=replace(event.claim, job=job))
        case events.JobsServed():
            return replace(event, jobs=(job,))
        case LedgerMeasured():
            return replace(event, accounted={job: Share(3, 4)}, complete={job: Share(3, 4)})
    return replace(event, job=job) if hasattr(event, "job") else event


def test_what_is_other_is_measured_together() -> None:
    metrics = Metrics(jobs_max=1)
    shares = {JobName("a"): Share(1, 1), JobName("b"): Share(1, 4), JobName("c"): Share(3, 4)}
    queues = {Queue(name): QueueView(Queue(name), 1, 2, 3, age) for name, age in (("x", 1.0), ("y", 9.0))}
    queues[Queue("z")] = QueueView(Queue("z"), 1, 2, 3, None)
    metrics.hear(replace(MEASURED, accounted=shares, complete=shares, queues=queues))
    found = page(metrics)
    assert found["run_completeness{job_id=a}"] == 1.0
    assert found["run_completeness{job_id=_other}"] == 0.5
    assert found["fencepost_queue_depth{queue=_other}"] == 2
    assert found["fencepost_queue_oldest_seconds{queue=_other}"] == 9.0


def test_a_job_that_is_gone_is_not_shown_for_ever_and_an_empty_queue_is_zero() -> None:
    metrics = Metrics()
    metrics.hear(MEASURED)
    metrics.hear(replace(MEASURED, accounted={}, complete={}, queues={}))
    found = page(metrics)
    assert "run_completeness{job_id=report}" not in found
    assert found["fencepost_queue_depth{queue=mail}"] == 0
    assert found["fencepost_queue_oldest_seconds{queue=mail}"] == 0


def test_gauges_of_the_ledger_are_not_shown_by_who_never_read_it() -> None:
    names = {family.name for family in text_string_to_metric_families(Metrics().render().decode())}
    assert not names & {one.name for one in LEDGER_GAUGES}
    assert "fencepost_build_info" in names


def test_gauges_of_a_ledger_that_does_not_answer_any_more_are_not_shown_for_ever() -> None:
    metrics = Metrics()
    metrics.hear(MEASURED)
    shown = {one.name for one in LEDGER_GAUGES}
    for failures in range(1, MISSED_READINGS_MAX + 1):
        assert shown <= set(names(metrics))
        metrics.hear(events.StoreMissed("planner", 100))
        metrics.hear(events.StoreMissed(GAUGES, failures))
    assert shown & set(names(metrics)) == ALWAYS_TOLD
    metrics.hear(MEASURED)
    assert shown <= set(names(metrics))


def test_a_ledger_that_never_answered_was_not_read_in_1970() -> None:
    metrics = Metrics()
    metrics.hear(events.StoreMissed(GAUGES, MISSED_READINGS_MAX))
    assert not {one.name for one in LEDGER_GAUGES} & set(names(metrics))


def names(metrics: Metrics) -> list[str]:
    return [family.name for family in text_string_to_metric_families(metrics.render().decode())]


@pytest.mark.parametrize(
    ("claim", "awaited"),
    [
        (CLAIM, 1),
        (replace(CLAIM, origin=Origin.MANUAL), 1),
        (replace(CLAIM, attempt=2), 0),
        (replace(CLAIM, origin=Origin.BACKFILL), 0),
        (replace(CLAIM, origin=Origin.CATCH_UP), 0),
        (replace(CLAIM, origin=Origin.REPLAY, attempt=4, attempts_before_replay=3), 0),
    ],
)
def test_what_comes_late_on_purpose_is_no_lag(claim: Claim, awaited: int) -> None:
    metrics = Metrics()
    metrics.hear(events.RunClaimed(claim))
    assert page(metrics)["scheduler_dispatch_lag_seconds_count"] == awaited


def test_a_process_has_one_set_which_counts_from_the_first_call() -> None:
    metrics = start_metrics()
    assert start_metrics() is metrics
    events.emit(events.GateClosed(NS, BEAT, "too many"))
    assert page(metrics)["fencepost_gate_closings_total"] == 1
    stop_metrics()
    events.emit(events.GateClosed(NS, BEAT, "too many"))
    assert page(metrics)["fencepost_gate_closings_total"] == 1


def test_a_program_shows_them_beside_its_own() -> None:
    registry = CollectorRegistry(auto_describe=True)
    Counter("orders", "of the program itself", registry=registry).inc()
    expose(registry)
    events.emit(events.GateClosed(NS, BEAT, "too many"))
    text = generate_latest(registry).decode()
    assert "orders_total 1.0" in text
    assert "fencepost_gate_closings_total 1.0" in text
    with pytest.raises(ValueError, match="Duplicated timeseries"):
        Counter("job_run", "taken", registry=registry)


def test_buckets_reach_from_prompt_to_an_outage() -> None:
    buckets = {one.name: one.buckets for one in CATALOGUE if one.kind is Kind.HISTOGRAM}
    assert {name: (bounds[0], bounds[-1]) for name, bounds in buckets.items()} == {
        "scheduler_dispatch_lag_seconds": (0.005, 600),
        "job_run_duration_seconds": (0.01, 21_600),
    }


def test_the_guide_has_every_metric_with_its_kind_and_labels_and_no_other() -> None:
    guide = Path(__file__).parents[2] / "docs" / "guides" / "metrics.md"
    rows = [line.split("|") for line in guide.read_text("utf-8").splitlines() if line.startswith("| `")]
    found = [tuple(cell.strip() for cell in row[1:5]) for row in rows if len(row) == 6]
    assert found == [
        (f"`{one.name}`", str(one.kind), ", ".join(f"`{label}`" for label in one.labels), one.words)
        for one in CATALOGUE
    ]
