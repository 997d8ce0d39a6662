"""How an attempt begins in memory."""

from __future__ import annotations

from datetime import datetime

from fencepost.model.claiming import Appetite
from fencepost.model.clocks import later
from fencepost.model.run import IN_TURN, Claim, RunState
from fencepost.stores.memory.carrying import MemoryVerdicts
from fencepost.stores.memory.lanes import RunRow


class MemoryStarts(MemoryVerdicts):
    """What every claim comes to."""

    def _start(
        self, row: RunRow, appetite: Appetite, previous: datetime | None, slot: str | None = None
    ) -> Claim:
        now, record = self._tables.now(), row.record
        row.alive_until, row.slot = later(now, appetite.alive_for_s), slot
        self._tables.change(
            row,
            state=RunState.RUNNING,
            attempt=record.attempt + 1,
            fence=self._tables.next_fence(),
            worker=appetite.worker,
            started_at=now,
            begun_at=record.begun_at if record.fence else now,
            held=record.held & ~IN_TURN,
            reason=None,
        )
        return self._claim(row, previous)

    def _claim(self, row: RunRow, previous: datetime | None) -> Claim:
        record = row.record
        assert record.started_at is not None
        return Claim(
            namespace=record.namespace,
            run_key=record.run_key,
            schedule_id=record.schedule_id,
            job=record.job,
            fire_time=record.fire_time,
            version=record.version,
            attempt=record.attempt,
            fence=record.fence,
            epoch=record.epoch,
            payload=self._tables.payload_of(record),
            run_at=record.run_at,
            started_at=record.started_at,
            previous=previous,
            begun_at=record.begun_at,
            spent=record.spent,
            queue=record.queue,
            origin=record.origin,
        )

    def _previous(self, row: RunRow) -> datetime | None:
        record = row.record
        if record.schedule_id is None:
            return None
        return self._tables.lane(record.namespace, record.schedule_id).last_success
