"""How runs in memory are shown and filtered."""

from __future__ import annotations

from dataclasses import replace

from fencepost.model.clocks import StoreTime
from fencepost.model.json import JsonObject
from fencepost.model.run import RunFilter, RunRecord, RunState


def shown(record: RunRecord, payload: JsonObject, now: StoreTime) -> RunRecord:
    """A due `planned` run is shown as `ready`."""
    due = record.state is RunState.PLANNED and record.run_at <= now
    return replace(record, payload=payload, state=RunState.READY if due else record.state)


def matches(record: RunRecord, wanted: RunFilter) -> bool:
    """Whether a run, as shown, is asked for; `since` is inclusive, `until` is not."""
    return (
        (wanted.schedule_id is None or record.schedule_id == wanted.schedule_id)
        and (wanted.job is None or record.job == wanted.job)
        and (wanted.state is None or record.state is wanted.state)
        and (wanted.since is None or record.fire_time >= wanted.since)
        and (wanted.until is None or record.fire_time < wanted.until)
    )
