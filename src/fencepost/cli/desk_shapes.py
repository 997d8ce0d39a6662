"""The JSON of what operators do: gates, freezes, backfills, the log. The names in it are promises."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from fencepost.core.masking import masked
from fencepost.model.audit import Author, Entry
from fencepost.model.backfill import Backfill, NewBackfill
from fencepost.model.freeze import Freeze
from fencepost.model.run import RunState
from fencepost.model.times import to_utc_text
from fencepost.services.control import GateView
from fencepost.services.desks.backfills import Estimate


def moment(value: datetime | None) -> str | None:
    """RFC 3339 in UTC, or null."""
    return None if value is None else to_utc_text(value)


def author_json(author: Author) -> dict[str, Any]:
    """Who acted, from where, and why."""
    return {"author": author.name, "source": author.source, "reason": author.reason}


def freeze_json(freeze: Freeze) -> dict[str, Any]:
    """A freeze in force."""
    return {
        "kind": str(freeze.scope.kind),
        "value": freeze.scope.value,
        "since": moment(freeze.since),
        **author_json(freeze.author),
    }


def gate_json(view: GateView) -> dict[str, Any]:
    """A closed gate and what it holds; `lasts_s` is how long that would take, null where nobody can tell."""
    gate = view.gate
    return {
        "schedule_id": gate.schedule_id,
        "closed_at": moment(gate.closed_at),
        "reason": gate.reason,
        "held": gate.held,
        "oldest": moment(gate.oldest),
        "newest": moment(gate.newest),
        "run_s": gate.run_s,
        "load_s": gate.load_s,
        "at_once": view.at_once,
        "lasts_s": view.lasts_s,
    }


def asked_json(asked: NewBackfill) -> dict[str, Any]:
    """What a backfill was asked to do; the range is open at its beginning."""
    return {
        "schedule_id": asked.schedule_id,
        "since": moment(asked.since),
        "until": moment(asked.until),
        "mode": str(asked.mode),
        "at_once_max": asked.at_once_max,
        "every_s": asked.every_s,
    }


def estimate_json(estimate: Estimate) -> dict[str, Any]:
    """What a backfill would do."""
    account = estimate.account
    return {
        **asked_json(estimate.asked),
        "fire_times": account.fire_times,
        "accounted": account.accounted,
        "states": dict(sorted(account.states.items())),
        "to_run": account.to_run,
        "forgotten_before": moment(estimate.forgotten_before),
        "run_s": estimate.run_s,
        "duration_s": estimate.duration_s,
    }


def backfill_json(backfill: Backfill) -> dict[str, Any]:
    """A backfill as it stands, with its runs by state."""
    return {
        "backfill_id": backfill.backfill_id,
        **asked_json(backfill.asked),
        "state": str(backfill.state),
        "filled_through": moment(backfill.filled_through),
        "created_at": moment(backfill.created_at),
        "over": backfill.over,
        "runs": {str(state): backfill.runs.get(state, 0) for state in RunState if backfill.runs.get(state)},
    }


def entry_json(entry: Entry, changes: list[str]) -> dict[str, Any]:
    """One line of the log."""
    return {
        "number": entry.number,
        "at": moment(entry.at),
        **author_json(entry.author),
        "action": str(entry.action),
        "subject": entry.subject,
        "before": masked(entry.before),
        "after": masked(entry.after),
        "changes": changes,
    }
