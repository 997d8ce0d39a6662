"""Remedies: which command changes what was found. Sentences take the commands that they name from here."""

from __future__ import annotations

from datetime import datetime

from fencepost.model.freeze import Scope, ScopeKind
from fencepost.model.identifiers import JobName, RunKey, ScheduleId
from fencepost.model.times import to_utc_text


def replay(run_key: RunKey) -> str:
    return f"to run it again: fencepost runs replay '{run_key}'"


def cancel(run_key: RunKey) -> str:
    return f"to stop it: fencepost runs cancel '{run_key}'"


def clear_the_way(run_key: RunKey) -> str:
    return f"to let it go first: fencepost runs cancel '{run_key}'"


def call_off(run_key: RunKey) -> str:
    return f"to call it off: fencepost runs skip '{run_key}'"


def release(run_key: RunKey) -> str:
    return f"to let it go: fencepost runs release '{run_key}'"


def thaw(scope: Scope) -> str:
    return f"to end the freeze: fencepost thaw{_scope_options(scope)}"


def open_gate(schedule_id: ScheduleId | None) -> str:
    return f"to decide: fencepost gate open {schedule_id} (or latest, or drop)"


def work() -> str:
    return "to have it run: start a worker that has its queue and its job (fencepost worker TARGET)"


def serve(job: JobName) -> str:
    return (
        f"to have it run: start a process whose code has job {job}; if the job was renamed, say "
        f'renamed_from="{job}" in the code; if it is gone, remove the schedule (fencepost schedules remove)'
    )


def plan() -> str:
    return "to have it planned: see that a node plans (fencepost status), or start one (fencepost scheduler)"


def rescue() -> str:
    return "to have it rescued: any live process does so by itself; start one with: fencepost run TARGET"


def buffer(schedule_id: ScheduleId | None) -> str:
    return f"to let ticks wait instead: fencepost schedules edit {schedule_id} --overlap buffer_one"


def catch_up(schedule_id: ScheduleId | None) -> str:
    return (
        f"to let late ticks run: fencepost schedules edit {schedule_id} --catch-up latest --max-lateness 6h"
    )


def repair(schedule_id: ScheduleId | None, fire_time: datetime) -> str:
    return f"to plan it now: fencepost audit {schedule_id} {_range_options(fire_time)} --repair"


def backfill(schedule_id: ScheduleId | None, fire_time: datetime) -> str:
    return f"to run it all the same: fencepost backfill {schedule_id} {_range_options(fire_time)}"


def backfill_missed(schedule_id: ScheduleId | None, fire_time: datetime) -> str:
    return f"{backfill(schedule_id, fire_time)} --missed"


def backfill_forgotten(schedule_id: ScheduleId | None, fire_time: datetime) -> str:
    """Only a backfill with `--force` runs what may have run before."""
    return f"{backfill(schedule_id, fire_time)} --force"


def trigger(schedule_id: ScheduleId | None) -> str:
    return f"to run it once now: fencepost schedules trigger {schedule_id}"


def resume(schedule_id: ScheduleId | None) -> str:
    return f"to plan again from now on: fencepost schedules resume {schedule_id}"


def history(schedule_id: ScheduleId | None) -> str:
    return f"to see what changed: fencepost schedules history {schedule_id}"


def _range_options(fire_time: datetime) -> str:
    """The range of one fire time: people give both ends, and both belong to it."""
    return f"--from {to_utc_text(fire_time)} --to {to_utc_text(fire_time)}"


def _scope_options(scope: Scope) -> str:
    match scope.kind:
        case ScopeKind.ALL:
            return " --all"
        case ScopeKind.LABEL:
            return f" --label {scope.value}"
        case ScopeKind.QUEUE:
            return f" --queue {scope.value}"
        case ScopeKind.SCHEDULE:
            return f" --schedule {scope.value}"
