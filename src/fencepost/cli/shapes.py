"""The JSON that commands print, in one place; the names in it are promises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fencepost.cli.desk_shapes import freeze_json, gate_json
from fencepost.cli.desk_shapes import moment as moment
from fencepost.cli.fleet_shapes import alarm_json, fleet_json
from fencepost.cli.run_views import held_words
from fencepost.cli.schedule_views import Outlook
from fencepost.cli.trigger_views import described
from fencepost.core.lifecycle import ENDED
from fencepost.core.masking import masked
from fencepost.model.codec import schedule_to_json
from fencepost.model.run import Attempt, RunRecord, RunState
from fencepost.model.schedule import Schedule, ScheduleSpec, ScheduleVersion
from fencepost.services.control import COMPLETENESS_WINDOW_S, COUNTED_MAX, Status
from fencepost.services.desks.schedules import Resumed
from fencepost.triggers.preview import ChangePreview


def run_json(run: RunRecord) -> dict[str, Any]:
    """A run."""
    return {
        "run_key": run.run_key,
        "schedule_id": run.schedule_id,
        "job": run.job,
        "fire_time": moment(run.fire_time),
        "version": run.version,
        "state": str(run.state),
        "reason": run.reason,
        "attempt": run.attempt,
        "fence": run.fence,
        "epoch": run.epoch,
        "run_at": moment(run.run_at),
        "started_at": moment(run.started_at),
        "finished_at": moment(run.finished_at),
        "worker": run.worker,
        "error": run.error,
        "queue": run.queue,
        "priority": run.priority,
        "payload": masked(run.payload),
        "progress": run.progress,
        "origin": str(run.origin),
        "held": held_words(run.held),
        "met": run.met,
        "begun_at": moment(run.begun_at),
        "backfill_id": run.backfill_id,
    }


def attempt_json(attempt: Attempt) -> dict[str, Any]:
    """An attempt that was kept by itself."""
    return {
        "attempt": attempt.attempt,
        "fence": attempt.fence,
        "worker": attempt.worker,
        "started_at": moment(attempt.started_at),
        "finished_at": moment(attempt.finished_at),
        "outcome": attempt.outcome,
        "error": attempt.error,
        "detail": attempt.detail,
        "output": attempt.output,
    }


def spec_json(spec: ScheduleSpec) -> dict[str, Any]:
    """What a version of a schedule says, but for the secrets in its payload."""
    return {**plain_spec_json(spec), "payload": masked(spec.payload)}


def plain_spec_json(spec: ScheduleSpec) -> dict[str, Any]:
    """The same as it stands, to be compared."""
    return {name: value for name, value in schedule_to_json(spec).items() if name != "v"}


def schedule_json(schedule: Schedule) -> dict[str, Any]:
    """A schedule as it stands."""
    return {
        "schedule_id": schedule.schedule_id,
        "state": str(schedule.state),
        "version": schedule.version,
        "description": described(schedule.spec, schedule.schedule_id),
        **spec_json(schedule.spec),
        "shard": schedule.shard,
        "planned_through": moment(schedule.planned_through),
        "updated_at": moment(schedule.updated_at),
        "frozen": schedule.frozen,
    }


def resumed_json(resumed: Resumed) -> dict[str, Any]:
    """A schedule that plans again; `caught_up` says from when on its pause fires, null where nothing does."""
    schedule, begins = resumed.schedule, resumed.caught_up_from
    caught_up = None if begins is None else {"from": moment(begins), "mode": schedule.spec.catch_up.words}
    return {**schedule_json(schedule), "caught_up": caught_up}


def outlook_json(outlook: Outlook) -> dict[str, Any]:
    """A schedule and what is to come; `next_run_at` has the due time of each of the fire times in `next`."""
    return {
        **schedule_json(outlook.schedule),
        "tzdata": outlook.tzdata,
        "next": [moment(one.fire_time) for one in outlook.ticks],
        "next_run_at": [moment(one.run_at) for one in outlook.ticks],
        "changes": [change_json(one) for one in outlook.changes],
        "trouble": outlook.trouble,
    }


def change_json(change: ChangePreview) -> dict[str, Any]:
    """What one change of the clocks does to a trigger."""
    return {
        "tz": change.tz,
        "at": moment(change.at),
        "kind": change.kind,
        "length_s": change.length.total_seconds(),
        "wall_from": change.wall_from.isoformat(),
        "wall_to": change.wall_to.isoformat(),
        "fire_times": [moment(one) for one in change.fire_times],
        "count": change.count,
        "sentence": change.sentence,
    }


def version_json(version: ScheduleVersion, changes: Sequence[str]) -> dict[str, Any]:
    """One entry of a schedule's history, with what it changed."""
    return {
        "version": version.version,
        "in_force_from": moment(version.in_force_from),
        "in_force_until": moment(version.in_force_until),
        "tzdata": version.tzdata,
        "spec": spec_json(version.spec),
        "changes": list(changes),
    }


def status_json(status: Status, leases: str | None) -> dict[str, Any]:
    """The state of the house; `leases` is where they live, if not in the store, without a password."""
    return {
        **fleet_json(status.fleet),
        "queue": {
            "ready": status.queue.ready,
            "running": status.queue.running,
            "oldest_ready_s": status.queue.oldest_ready_s,
        },
        "completeness": completeness_json(status.tally),
        "freezes": [freeze_json(one) for one in status.freezes],
        "gates": [gate_json(one) for one in status.gates],
        "attention": {"dead": status.dead, "held": status.held, "counted_max": COUNTED_MAX},
        "alarms": [alarm_json(one) for one in status.fleet.alarms],
        "leases": {"url": leases, "trouble": status.fleet.trouble},
    }


def completeness_json(tally: Mapping[RunState, int]) -> dict[str, Any]:
    """How the ticks of the last day stand: `accounted` is the share of the due ones that have ended."""
    ended = sum(count for state, count in tally.items() if state in ENDED)
    due = sum(count for state, count in tally.items() if state is not RunState.PLANNED)
    return {
        "window_s": COMPLETENESS_WINDOW_S,
        "states": {str(state): tally.get(state, 0) for state in RunState if state is not RunState.PLANNED},
        "due": due,
        "ended": ended,
        "accounted": ended / due if due else 1.0,
    }
