"""A house with something of everything in it, and a hostile text wherever one can be."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

from fencepost.model.audit import Author
from fencepost.model.clocks import StoreTime
from fencepost.model.freeze import Scope, ScopeKind
from fencepost.model.identifiers import (
    DEFAULT_QUEUE,
    Epoch,
    Fence,
    JobName,
    NodeId,
    Queue,
    RunKey,
    ScheduleId,
    job_key,
    tick_key,
)
from fencepost.model.job import JobSpec
from fencepost.model.node import Node, NodeReport
from fencepost.model.policies import CatchUp
from fencepost.model.run import Hold, NewRun, Origin, RunState
from fencepost.model.schedule import ScheduleSpec
from fencepost.model.tables import ATTEMPTS, RUNS
from fencepost.operations import pausing
from fencepost.operations import schedules as schedule_operations
from fencepost.operations.control import Control
from fencepost.triggers import Cron
from tests.rows import put
from tests.services.house import NS, START, House
from tests.web.dashboard.furniture import furnish

HOSTILE = "<script>alert('x')</script>\"><img src=x onerror=alert(1)> javascript:alert(2) \u202egnp.exe"
LONG = "very-long-" * 40
PAYLOAD = json.dumps({"x": HOSTILE})
AUTHOR = Author(HOSTILE, HOSTILE, HOSTILE)
JOBS = ("report", "mail/digest")
ENDED = (RunState.SUCCEEDED, RunState.DEAD, RunState.SKIPPED, RunState.MISSED, RunState.CANCELLED)
NIGHTLY = "nightly/eu"


async def furnished() -> House:
    """Schedules that are active, paused, removed and frozen, and runs in every state, an hour of them."""
    house = House()
    memory = house.memory
    await memory.jobs.register(NS, [JobSpec(JobName(name), open_payload=True) for name in JOBS])
    spec = {"labels": {"team": HOSTILE}, "payload": {"note": HOSTILE, "password": "a-secret-of-the-tests"}}
    await house.put("minutely", 60, catch_up=CatchUp("sequential"), **spec)
    await house.put("resting", 60)
    await house.put("gone", 60)
    await house.put("stiff", 300)
    await house.put_spec(
        NIGHTLY,
        ScheduleSpec(JobName("mail/digest"), Cron("30 2 * * *", tz="Europe/Berlin").to_json(), spread=None),
    )
    control = Control(house.store, NS, AUTHOR)
    await pausing.pause(control, "resting")
    await schedule_operations.remove(control, "gone")
    await memory.freezes.freeze(NS, Scope(ScopeKind.SCHEDULE, "stiff"), AUTHOR)
    await memory.freezes.freeze(NS, Scope(ScopeKind.QUEUE, "slow"), AUTHOR)
    node = Node(NodeId(HOSTILE), HOSTILE, 7, True, True, (DEFAULT_QUEUE,), 4)
    house.clock.advance(3600)
    await memory.nodes.beat(node, NodeReport(skew_s=3.0), 1_000_000.0)
    for index in range(50):
        put_run(house, "minutely", START + timedelta(minutes=index + 1), **_fate(index))
    by_hand = NewRun(
        job_key(JobName("report"), "<b>bold"), JobName("report"), {"x": HOSTILE}, DEFAULT_QUEUE, 2
    )
    await memory.ledger.enqueue(NS, [by_hand], author=AUTHOR)
    await house.put("minutely", 90, **spec)
    await furnish(house, HOSTILE)
    return house


def put_run(house: House, schedule_id: str, fire_time: datetime, **fields: Any) -> RunKey:
    """A row as the ledger could have it."""
    key = tick_key(ScheduleId(schedule_id), fire_time, 1)
    began, ended = StoreTime(fire_time + timedelta(seconds=1)), StoreTime(fire_time + timedelta(seconds=5))
    values: dict[str, Any] = {
        "namespace": NS,
        "run_key": key,
        "schedule_id": ScheduleId(schedule_id),
        "job": JobName("report"),
        "fire_time": fire_time,
        "version": 1,
        "state": RunState.SUCCEEDED,
        "reason": None,
        "attempt": 1,
        "fence": Fence(1),
        "epoch": Epoch(1),
        "run_at": fire_time,
        "started_at": began,
        "first_started_at": began,
        "finished_at": ended,
        "worker": NodeId(HOSTILE),
        "error": None,
        "queue": Queue("slow"),
        "priority": 2,
        "payload": PAYLOAD,
        "note": HOSTILE,
        **fields,
    }
    if values["state"] is RunState.RUNNING:
        values["alive_until"] = START
    put(house.memory, RUNS, **values)
    if values["state"] is RunState.DEAD:
        _put_attempt(house, key, began, ended)
    return key


def _put_attempt(house: House, key: RunKey, began: StoreTime, ended: StoreTime) -> None:
    """One that failed."""
    attempt = {"namespace": NS, "run_key": key, "attempt": 1, "fence": 1, "worker": HOSTILE}
    left = {"outcome": "failed", "error": HOSTILE, "detail": HOSTILE, "output": HOSTILE}
    put(house.memory, ATTEMPTS, **attempt, **left, started_at=began, finished_at=ended)


def _fate(index: int) -> dict[str, Any]:
    """Something of everything, again and again."""
    state = (*ENDED, RunState.RUNNING, RunState.READY, RunState.WITHDRAWN, RunState.SUCCEEDED)[index % 9]
    fate: dict[str, Any] = {"state": state, "reason": HOSTILE if index % 2 else None}
    if state is RunState.DEAD:
        fate["error"] = HOSTILE
    if state in (RunState.RUNNING, RunState.READY):
        fate["finished_at"] = None
    if state is RunState.READY:
        fate.update(started_at=None, first_started_at=None, attempt=0, fence=Fence(0), held=Hold(index % 4))
    if state is RunState.SUCCEEDED:
        fate["origin"] = (Origin.LIVE, Origin.REPLAY, Origin.BACKFILL, Origin.CATCH_UP)[index % 4]
    return fate
