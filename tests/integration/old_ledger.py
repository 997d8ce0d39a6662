"""A whole ledger as schema 9 kept it: rows for every table, made by code.

The rows are said once, with times and truths as they are. How a store kept them then is said by `old_stores`.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

from fencepost.model import tables
from fencepost.model.codec import job_to_text, limit_to_text, schedule_to_text
from fencepost.model.identifiers import NodeId, ScheduleId, job_key, shard_of, tick_key
from fencepost.model.job import JobSpec
from fencepost.model.limits import JobLimit
from fencepost.model.node import Node, NodeReport
from fencepost.model.node_codec import node_to_text, report_to_text
from fencepost.model.policies import CatchUp
from fencepost.model.run import Hold
from fencepost.model.schedule import ScheduleSpec
from fencepost.model.table import Table
from fencepost.testing.conformance.builders import JOB, NS, OTHER_JOB, OTHER_NS, make_spec
from fencepost.triggers import Every
from tests.conformance.clocked import START

Values = dict[str, Any]

SCHEMA = 9
SHARDS = 8
FENCE = 100
EVERY = timedelta(minutes=5)
SINCE = START - timedelta(hours=1)
EDITED = START - timedelta(minutes=30)
PLANNED_THROUGH = START + timedelta(minutes=5)
FORGOTTEN = START - timedelta(days=30, microseconds=12)
LIMIT = JobLimit(concurrency=2)
NEWER = {
    *(tables.SUCCESSORS, tables.RUN_LINKS, tables.UNIQUE_RUNS),
    *(tables.NOTIFY_TARGETS, tables.NOTIFY_EVENTS, tables.ALARMS),
}
TABLES = {one.name: one for one in vars(tables).values() if isinstance(one, Table) and one not in NEWER}
RED = {"team": "red"}


def at(minutes: float) -> datetime:
    """So long after the ledger's present."""
    return START + timedelta(minutes=minutes)


def every_row() -> dict[str, list[Values]]:
    """The rows of every table; serial numbers come by themselves, in this order."""
    found: dict[str, list[Values]] = {"meta": [{"name": "forgotten_before", "value": FORGOTTEN.isoformat()}]}
    for part in (_jobs(), _schedules(), _runs(), _leaders(), _operators(), _credentials()):
        found |= part
    assert set(found) == set(TABLES)
    return found


def _jobs() -> dict[str, list[Values]]:
    specs = JobSpec(JOB), JobSpec(OTHER_JOB, limit=LIMIT)
    return {
        "jobs": [
            {
                "namespace": ns,
                "name": one.name,
                "spec": job_to_text(one),
                "queue": one.queue,
                "priority": one.priority,
                "updated_at": SINCE,
            }
            for ns in (NS, OTHER_NS)
            for one in specs
        ],
        "limits": [
            {"namespace": NS, "job": OTHER_JOB, "terms": limit_to_text(LIMIT), "concurrency": 2},
        ],
    }


def _spec(**fields: Any) -> ScheduleSpec:
    spec = make_spec(**fields)
    return ScheduleSpec(**{**vars(spec), "trigger": Every(f"{EVERY.seconds}s").to_json()})


HOURLY, NIGHTLY, GONE, HELD, GATED = map(ScheduleId, ("hourly", "nightly", "gone", "held", "gated"))
DE = {"name": "de", "weekend": "SAT SUN", "holidays": "", "workdays": "", "revision": 3}
SPECS = {
    HOURLY: _spec(),
    NIGHTLY: _spec(calendars={"de": DE}),
    GONE: _spec(job=OTHER_JOB),
    HELD: _spec(labels=RED),
    GATED: _spec(catch_up=CatchUp("sequential", "10m")),
}
STATES = {HOURLY: "active", NIGHTLY: "paused", GONE: "removed", HELD: "active", GATED: "active"}
VERSIONS = {HOURLY: 2, NIGHTLY: 1, GONE: 1, HELD: 1, GATED: 1}


def _schedules() -> dict[str, list[Values]]:
    found: dict[str, list[Values]] = {"schedules": [], "schedule_versions": [], "cursors": []}
    for ns, one in [*((NS, one) for one in SPECS), (OTHER_NS, HOURLY), (OTHER_NS, NIGHTLY)]:
        spec, name = schedule_to_text(SPECS[one]), {"namespace": ns, "schedule_id": one}
        shard, last = shard_of(ns, one, SHARDS), VERSIONS[one]
        found["schedules"].append(
            {
                **name,
                "shard": shard,
                "version": last,
                "state": STATES[one],
                "spec": spec,
                "job": SPECS[one].job,
                "labels": json.dumps(dict(SPECS[one].labels)),
                "code_spec": spec,
                "code_digest": "digest-1",
                "updated_at": EDITED,
                "frozen": one == HELD,
            }
        )
        for version in range(1, last + 1):
            begins = SINCE if version == 1 else EDITED
            ends = EDITED if version < last or STATES[one] != "active" else None
            through = ends or PLANNED_THROUGH
            dates = {"in_force_from": begins, "in_force_until": ends, "tzdata": "2026a"}
            found["schedule_versions"].append(
                {**name, "version": version, "spec": spec, "job": SPECS[one].job, **dates}
            )
            looks = {"next_fire_at": None if ends else through + EVERY, "until": ends, "tzdata": "2026a"}
            found["cursors"].append(
                {
                    **name,
                    "shard": shard,
                    "version": version,
                    "planned_through": through,
                    **looks,
                    "frozen": one == HELD,
                    "touched": 1,
                }
            )
    calendar = {"namespace": NS, "name": "de", "revision": 3, "updated_at": SINCE}
    found["calendars"] = [{**calendar, "definition": json.dumps({k: DE[k] for k in DE if k != "revision"})}]
    found["calendar_uses"] = [{"namespace": NS, "schedule_id": NIGHTLY, "calendar": "de", "revision": 3}]
    missed = {"version": 1, "first_at": at(-55), "last_at": at(-45), "through": at(-45), "ticks": 3}
    found["missed_ranges"] = [{"namespace": NS, "schedule_id": HOURLY, **missed, "reason": "too late"}]
    return found


def tick(one: ScheduleId, minutes: int, state: str, *, version: int = 1, **fields: Any) -> Values:
    """A tick; begun at its time and ended a minute later where its state says so."""
    moment, fence = at(minutes), 0
    times: Values = {}
    if state in ("succeeded", "dead", "running"):
        fence = 60 + minutes // 5
        times = {
            "started_at": moment,
            "first_started_at": moment,
            "worker": "alice-1",
            "attempt": 1,
            "fence": fence,
        }
    if state not in ("planned", "ready", "running"):
        times["finished_at"] = moment + timedelta(minutes=1)
    return {
        "namespace": NS,
        "run_key": tick_key(one, moment, version),
        "schedule_id": one,
        "fire_time": moment,
        "job": SPECS[one].job,
        "version": version,
        "state": state,
        "epoch": 7,
        "queue": "default",
        "priority": 2,
        "run_at": moment,
        **times,
        **fields,
    }


def by_hand(key: str, state: str, minutes: int, **fields: Any) -> Values:
    """A run by hand."""
    moment, job = at(minutes), fields.pop("job", JOB)
    return {
        "namespace": NS,
        "run_key": job_key(job, key),
        "job": job,
        "fire_time": moment,
        "state": state,
        "queue": "default",
        "priority": 3,
        "run_at": moment,
        "payload": '{"n":1}',
        **fields,
    }


RUNNING = tick(HOURLY, 0, "running", version=2, alive_until=at(0.5), progress="3 of 9", note="mails")
LOST = tick(HOURLY, -5, "succeeded", version=2, attempt=2)
DEAD = tick(HOURLY, -20, "dead", version=2, error="boom\nTraceback", reason="retries exhausted")
PLANNED = tick(HOURLY, 5, "planned", version=2)
RETRY = by_hand(
    "retry", "ready", -3, attempt=1, fence=88, started_at=at(-3), first_started_at=at(-3), error="boom"
)
SLOTTED = by_hand(
    *("slotted", "running", -4), job=OTHER_JOB, slot="", attempt=1, fence=89, started_at=at(-2),
    first_started_at=at(-2), worker="bob-1", alive_until=at(1), cancel_requested=True,
)  # fmt: skip
WAITS = {
    "operator": by_hand("operator", "ready", -6, held=Hold.OPERATOR.value),
    "limited": by_hand("limited", "ready", -6, held=Hold.LIMITED.value, slot="", job=OTHER_JOB),
    "paced": by_hand("paced", "ready", -5, held=Hold.PACED.value, slot="", job=OTHER_JOB),
    "coming": by_hand("coming", "planned", 10),
    "again": by_hand("again", "ready", -2, origin="replay", priority=5, attempts_before_replay=2, attempt=2),
}


def _runs() -> dict[str, list[Values]]:
    behind: Values = {"origin": "catch_up", "priority": 5}
    filled: Values = {"origin": "backfill", "priority": 5, "backfill_id": 1, "version": 2}
    runs = [
        tick(HOURLY, -40, "missed", reason="too late"),
        *(tick(HOURLY, minutes, "succeeded") for minutes in (-35, -30)),
        tick(HOURLY, -25, "withdrawn", reason="edited", finished_at=EDITED),
        tick(HOURLY, -25, "succeeded", version=2),
        *(DEAD, LOST, RUNNING, PLANNED),
        tick(HOURLY, -15, "skipped", version=2, reason="overlap", blocked_by=DEAD["run_key"]),
        tick(HOURLY, -10, "cancelled", reason="never mind", **filled),
        *(tick(NIGHTLY, minutes, "succeeded") for minutes in range(-55, -25, 5)),
        *(tick(GONE, minutes, "succeeded") for minutes in range(-55, -25, 5)),
        *(tick(HELD, minutes, "succeeded") for minutes in range(-55, -5, 5)),
        *(tick(HELD, minutes, "planned", held=Hold.FROZEN.value) for minutes in (-5, 0, 5)),
        *(tick(GATED, minutes, "succeeded") for minutes in range(-55, -20, 5)),
        *(tick(GATED, minutes, "planned", held=Hold.GATE.value, **behind) for minutes in (-20, -15)),
        tick(GATED, -10, "planned", held=(Hold.GATE | Hold.PARKED).value, reason="in turn", **behind),
        *(tick(GATED, minutes, "planned") for minutes in (-5, 0, 5)),
        by_hand("stripped", "succeeded", -50, finished_at=at(-49), payload=None, stripped=True),
        *(RETRY, SLOTTED, *WAITS.values()),
        {**by_hand("elsewhere", "ready", -1), "namespace": OTHER_NS, "queue": "heavy"},
    ]
    key, name = RUNNING["run_key"], {"namespace": NS}
    lost = {"attempt": 1, "fence": 58, "worker": "carol-1", "started_at": at(-5), "finished_at": at(-4.5)}
    failed = {"attempt": 1, "fence": DEAD["fence"], "started_at": at(-20), "finished_at": at(-19)}
    chunk = {"attempt": 1, "number": 1, "first_line": 0, "lines": 2, "text": "one\ntwo", "at": at(0)}
    return {
        "runs": runs,
        "attempts": [
            {**name, "run_key": LOST["run_key"], **lost, "outcome": "lost"},
            {**name, "run_key": DEAD["run_key"], **failed, "outcome": "dead", "error": "boom", "detail": "…"},
        ],
        "steps": [
            {**name, "run_key": key, "name": step, "result": "7", "attempt": 1, "recorded_at": at(0)}
            for step in ("second", "first")
        ],
        "run_logs": [{**name, "run_key": key, **chunk}],
    }


def _leaders() -> dict[str, list[Values]]:
    node = Node(NodeId("alice-1"), "host", 7, plans=True, works=True)
    report = report_to_text(NodeReport(0.5))
    leads = {"epoch": 7, "holder": "alice-1", "lineage": "sqlite"}
    refused = {"at": at(-9), "shard": 0, "epoch": 5, "holder": "bob-1", "known_epoch": 7}
    lease = {"holder": "alice-1", "epoch": 7, "expires_at": at(0.1), "ttl_s": 10.5, "set_back_s": 0.25}
    return {
        "leases": [{"shard": shard, **lease} for shard in range(SHARDS)],
        "epochs": [
            {"shard": shard, **leads, "lease_epoch": 7, "since": SINCE, "transitions": 3}
            for shard in range(SHARDS)
        ],
        "terms": [
            *({"shard": 0, **leads, "epoch": epoch, "since": SINCE, "until": SINCE} for epoch in (5, 6)),
            *({"shard": shard, **leads, "since": SINCE} for shard in range(SHARDS)),
        ],
        "refusals": [{**refused, "known_holder": "alice-1"}],
        "nodes": [
            {
                "node_id": "alice-1",
                "about": node_to_text(node),
                "started_at": SINCE,
                "skew_s": 0.5,
                "alive_until": at(0.25),
                "report": report,
                "reported_at": START,
                "draining": True,
            }
        ],
    }


def _operators() -> dict[str, list[Values]]:
    author = {"author": "anna", "source": "cli", "reason": "because"}
    asked = {"since": at(-25), "until": at(-5), "mode": "missing", "at_once_max": 2, "every_s": 1.5}
    stands = {"state": "active", "filled_through": at(-10), "next_run_at": START, "created_at": at(-9)}
    return {
        "gates": [
            {"namespace": NS, "schedule_id": GATED, "closed_at": at(-1), "reason": "3 wait"},
            {"namespace": NS, "schedule_id": HOURLY, "opened_at": at(-30), "let_through": at(-35)},
        ],
        "freezes": [
            {"namespace": NS, "kind": "label", "value": "team=red", "since": at(-7), **author},
            {"namespace": OTHER_NS, "kind": "queue", "value": "heavy", "since": at(-7), **author},
        ],
        "backfills": [{"namespace": NS, "schedule_id": HOURLY, **asked, **stands}],
        "audit_log": [
            {
                "namespace": NS,
                "at": EDITED,
                **author,
                "action": "schedule.put",
                "subject": one,
                "before": "{}",
                "after": '{"version":1}',
                "credential": "t0000000000000001",
            }
            for one in SPECS
        ],
        "answers": [
            {
                "namespace": NS,
                "principal_id": "t1",
                "key": "key-1",
                "fingerprint": "f",
                "asked_at": at(-3),
                "held_until": at(-2),
                "status": 201,
                "body": b"{}",
                "headers": '{"Location":"/runs/1"}',
            }
        ],
    }


def _credentials() -> dict[str, list[Values]]:
    whose = {"digest": "0" * 64, "name": "anna", "role": "admin", "namespace": NS}
    made = {"created_at": SINCE, "created_by": "setting"}
    return {
        "tokens": [
            {"token_id": "t0000000000000001", **whose, **made, "last_used_at": at(-1)},
            {"token_id": "t0000000000000002", **whose, **made, "revoked_at": at(-2)},
            {
                "token_id": "t0000000000000003",
                **whose,
                **made,
                "expires_at": at(90),
                "rotated_from": "t0000000000000002",
            },
        ],
        "sessions": [
            {
                "session_id": "s0000000000000001",
                **whose,
                "opened_with": "t0000000000000001",
                "rests_on": "t0000000000000001",
                "created_at": SINCE,
                "expires_at": at(60),
                "last_used_at": at(-1),
            }
        ],
        "sign_in_links": [
            {"link_id": "l0000000000000001", **whose, **made, "expires_at": at(10), "rests_on": "setting:x"}
        ],
    }
