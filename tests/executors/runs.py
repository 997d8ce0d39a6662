"""A run as an executor is handed it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import DEFAULT_NAMESPACE, Epoch, Fence, JobName, RunKey, ScheduleId
from fencepost.model.run import Claim
from fencepost.ports.run import Run

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def make_run(payload: dict[str, Any] | None = None, schedule_id: str | None = "beat") -> Run:
    """The second attempt of the noon tick."""
    return Run(
        Claim(
            namespace=DEFAULT_NAMESPACE,
            run_key=RunKey("beat#2026-03-01T12:00:00Z#3"),
            schedule_id=None if schedule_id is None else ScheduleId(schedule_id),
            job=JobName("report"),
            fire_time=NOW,
            version=3,
            attempt=2,
            fence=Fence(17),
            epoch=Epoch(5),
            payload=payload or {},
            run_at=NOW,
            started_at=StoreTime(NOW),
        )
    )
