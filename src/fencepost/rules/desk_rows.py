"""Rows of what operators do, as values of the model: gates, freezes, backfills, the audit log.

As in `stores.rows`, a row gives a column by its name, moments are aware datetimes in UTC and JSON is text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from fencepost.model.audit import Action, Author, Entry
from fencepost.model.backfill import Backfill, BackfillState, FillMode, NewBackfill
from fencepost.model.freeze import Freeze, Scope, ScopeKind
from fencepost.model.json import JsonObject
from fencepost.model.plan import Fate
from fencepost.model.run import RunRecord, RunState
from fencepost.rules.rows import Row

BY_FATE = {
    Fate.PLANNED: Action.RUN_RESTORE,
    Fate.HELD: Action.RUN_HOLD,
    Fate.SKIPPED: Action.RUN_SKIP,
}
"""What the audit log calls the writing of a tick by name."""


def to_freeze(row: Row) -> Freeze:
    """A freeze in force."""
    scope = Scope(ScopeKind(row["kind"]), row["value"])
    return Freeze(row["namespace"], scope, row["since"], to_author(row))


def to_author(row: Row) -> Author:
    """The columns `author`, `source` and `reason`."""
    return Author(row["author"], row["source"], row["reason"])


def to_backfill(row: Row, runs: Mapping[RunState, int]) -> Backfill:
    """A backfill with its runs counted by state."""
    return Backfill(
        backfill_id=row["backfill_id"],
        namespace=row["namespace"],
        asked=NewBackfill(
            schedule_id=row["schedule_id"],
            since=row["since"],
            until=row["until"],
            mode=FillMode(row["mode"]),
            at_once_max=row["at_once_max"],
            every_s=float(row["every_s"]),
        ),
        state=BackfillState(row["state"]),
        filled_through=row["filled_through"],
        created_at=row["created_at"],
        runs=runs,
    )


def to_entry(row: Row) -> Entry:
    """One line of the audit log."""
    return Entry(
        number=row["number"],
        namespace=row["namespace"],
        at=row["at"],
        author=replace(to_author(row), credential=row["credential"]),
        action=Action(row["action"]),
        subject=row["subject"],
        before=json.loads(row["before"]),
        after=json.loads(row["after"]),
    )


def logged_schedule(row: Row | None) -> JsonObject:
    """What the audit log keeps of a schedule."""
    if row is None:
        return {}
    return {
        "version": row["version"],
        "state": row["state"],
        "frozen": row["frozen"],
        "spec": json.loads(row["spec"]),
    }


def logged_run(run: RunRecord | None) -> JsonObject:
    """What the audit log keeps of a run."""
    if run is None:
        return {}
    return {
        "state": str(run.state),
        "reason": run.reason,
        "attempt": run.attempt,
        "held": int(run.held),
        "cancel_requested": run.cancel_requested,
    }
