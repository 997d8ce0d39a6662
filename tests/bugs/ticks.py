"""Bugs in how fire times become rows."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from inspect import unwrap
from typing import Any
from unittest.mock import patch
from zoneinfo import ZoneInfo

from fencepost.core import catchup, overlap, verdict
from fencepost.core import planning as core_planning
from fencepost.errors import StoreUnavailable
from fencepost.model.identifiers import RunKey
from fencepost.model.plan import Tick
from fencepost.model.policies import CatchUpMode
from fencepost.model.tables import CURSORS, RUNS_BY_SCHEDULE, SCHEDULES, VERSIONS
from fencepost.rules import plans, schedules, versions
from fencepost.rules.part import writes
from fencepost.rules.reports import ReportRules
from fencepost.services import planner
from fencepost.services.planner import Planner
from tests.bugs.bug import Planted, all_of, bug

SOON_FORGOTTEN_S = 300.0
LONDON = ZoneInfo("Europe/London")


@bug("runs and cursor move in one transaction", "I2")
def cursor_moved_before_the_runs_are_written() -> Planted:
    """The planner dies between two writes: the cursor has passed ticks that nobody wrote."""

    async def write(self: Any, plans: Any, grants: Any) -> None:
        async with self._leadership.writing:
            await self._store.plans.write([replace(one, ticks=()) for one in plans])
        for one in plans:
            at = one.cursor
            where = at.namespace, at.schedule_id, at.version
            await self._store.ledger.plan_by_name(*where, one.ticks, None)

    return patch.object(Planner, "_write", write)


@bug("the cursor moves by fire times, not by the clock", "I2")
def planning_from_now_on() -> Planted:
    """Nobody planned for five minutes, and the next planner begins at what the clock says."""
    plan = core_planning.plan

    def from_now(cursor: Any, trigger: Any, through: Any, epoch: Any, ticks_max: int, rules: Any) -> Any:
        here = replace(cursor, planned_through=max(cursor.planned_through, min(rules.now, through)))
        return replace(plan(here, trigger, through, epoch, ticks_max, rules), cursor=cursor)

    return patch.object(planner, "plan", from_now)


@bug("an error in the tick loop is not swallowed", "I2")
def failed_write_taken_for_written() -> Planted:
    """A write fails, the loop goes on, and the planner's own mark has passed the ticks that it lost."""
    write, plans_of = Planner._write, Planner._plans
    marks: dict[tuple[Any, str, int], datetime] = {}

    async def swallow(self: Any, plans: Any, grants: Any) -> None:
        try:
            await write(self, plans, grants)
        except StoreUnavailable:
            for one in plans:
                key = id(self), one.cursor.schedule_id, one.cursor.version
                marks[key] = max(one.planned_through, marks.get(key, one.planned_through))

    def after_the_mark(self: Any, window: Any, grants: Any, unreadable: Any) -> Any:
        for one in filter(None, plans_of(self, window, grants, unreadable)):
            mark = marks.get((id(self), one.cursor.schedule_id, one.cursor.version))
            yield replace(one, ticks=tuple(t for t in one.ticks if mark is None or t.fire_time > mark))

    return all_of(patch.object(Planner, "_write", swallow), patch.object(Planner, "_plans", after_the_mark))


@bug(
    "the horizon includes its last instant",
    "tests/core/test_planning.py::test_no_cut_into_passes_loses_or_repeats_a_tick",
)
def tick_at_the_edge_dropped() -> Planted:
    """A tick that falls on the very instant up to which is planned is in neither of two plans."""
    walk = core_planning._walk

    def short(trigger: Any, after: Any, through: Any, ticks_max: int) -> Any:
        found, reached = walk(trigger, after, through, ticks_max)
        return [one for one in found if one < through], reached

    return patch.object(core_planning, "_walk", short)


@bug(
    "a late plan by an old spec is refused after an edit",
    "tests/services/test_planner.py::test_an_edit_between_reading_and_writing_is_not_followed_by_a_tick_of_the_old_spec",
)
def stale_spec_planned_after_an_edit() -> Planted:
    """A plan made before the edit arrives after it, and the old times fire beside the new ones."""

    def fits(known: Any, cursor: Any) -> bool:
        return bool(known["planned_through"] == cursor.planned_through)

    return patch.object(plans, "_fits", fits)


@bug("a pause takes back what was planned", "I3", seed=2)
def pause_leaves_planned_ticks() -> Planted:
    """A schedule was paused, edited or removed, and its next minute fires all the same."""
    return patch.object(versions, "_is_planned", lambda run: False)


@bug("a cursor never goes back", "I3", seed=1)
def cursor_falls_back_at_an_edit() -> Planted:
    """An edit plans the last ten minutes again, by the new spec: ticks fire by surprise."""
    edit = versions.edit

    async def back(tx: Any, edits: Any, *arguments: Any, **more: Any) -> Any:
        edited = await edit(tx, edits, *arguments, **more)
        for schedule in edited.values():
            cursor = await _latest_cursor(tx, schedule)
            planned = cursor["planned_through"] - timedelta(minutes=10)
            await tx.change(CURSORS, [(cursor, {"planned_through": planned})])
        return edited

    return patch.object(schedules, "edit", back)


@bug("an edit loses nothing that was planned by the old spec", "I2", seed=1)
def edit_begins_where_the_old_plan_ended() -> Planted:
    """The ticks of the old spec were taken back; those of the new one begin a horizon later."""
    edit = versions.edit

    async def ahead(tx: Any, edits: Any, *arguments: Any, **more: Any) -> Any:
        before = [await _latest_cursor(tx, schedule) for schedule, _ in edits]
        edited = await edit(tx, edits, *arguments, **more)
        for old, schedule in zip(before, edited.values(), strict=True):
            cursor = await _latest_cursor(tx, schedule)
            planned = max(old["planned_through"], cursor["planned_through"])
            await tx.change(CURSORS, [(cursor, {"planned_through": planned})])
        return edited

    return patch.object(schedules, "edit", ahead)


@bug("evidence that is pruned is no evidence", "I1")
def retention_takes_the_cursor_along() -> Planted:
    """How far a schedule is planned is read off its rows; when retention has removed them, all is planned
    again."""
    forget = unwrap(ReportRules.forget)

    async def forgetful(self: Any, tx: Any, older_than_s: float, limit: int, dead_s: Any = None) -> Any:
        removed = await forget(self, tx, SOON_FORGOTTEN_S, limit)
        for schedule in await tx.find(SCHEDULES.indexes["schedules_key"]()):
            cursor = await _latest_cursor(tx, schedule)
            if removed and cursor["next_fire_at"] is not None:
                (version,) = await tx.find(VERSIONS.at(*CURSORS.key_of(cursor)))
                runs = await tx.find(RUNS_BY_SCHEDULE(*SCHEDULES.key_of(schedule)), limit=1, reverse=True)
                fired = runs[0]["fire_time"] if runs else version["in_force_from"]
                await tx.change(CURSORS, [(cursor, {"planned_through": fired, "next_fire_at": fired})])
        return removed

    return patch.object(ReportRules, "forget", writes(forgetful))


@bug("the key is the UTC instant", "I2", seed=1, hours=1.1)
def key_by_local_time() -> Planted:
    """In the hour that comes twice the second half past one is taken for the first."""

    def local_key(schedule_id: str, fire_time: datetime, version: int) -> RunKey:
        return RunKey(f"{schedule_id}#{fire_time.astimezone(LONDON):%Y-%m-%dT%H:%M:%S}#{version}")

    return patch.object(plans, "tick_key", local_key)


@bug("spread and jitter never change the key", "I3")
def key_by_the_time_it_is_due() -> Planted:
    """A spread schedule's runs are known by when they begin: nobody finds the tick they stand for."""
    plan = core_planning.plan

    def due(*arguments: Any) -> Any:
        made = plan(*arguments)
        return replace(made, ticks=tuple(Tick(t.run_at, t.run_at, t.catches_up) for t in made.ticks))

    return patch.object(planner, "plan", due)


@bug(
    "missed ticks do not fire all at once",
    "tests/core/test_verdict.py::test_a_stall_longer_than_the_window_runs_the_newest_and_none_of_what_is_too_late",
)
def everything_missed_fires_at_once() -> Planted:
    """After a stall all ticks that were missed meanwhile are run, although nobody asked for catch-up."""
    return patch.object(catchup, "why_too_late", lambda catch_up, due_since, now: None)


@bug(
    "coalescing keeps the newest",
    "tests/core/test_verdict.py::test_with_latest_no_late_tick_runs_but_the_newest",
)
def coalescing_keeps_the_oldest() -> Planted:
    """Of an hour of missed ticks the first is run, with the news of an hour ago."""

    def oldest(catch_up: Any, fire_time: datetime, newest_due: datetime) -> str | None:
        latest = catch_up.mode is CatchUpMode.LATEST
        return "coalesced into an older one" if latest and fire_time >= newest_due else None

    return patch.object(catchup, "why_coalesced", oldest)


@bug(
    "lateness is excused only behind what had begun before",
    "tests/incidents/test_policy_pairs.py::test_no_checker_finds_a_stale_tick_after_a_stall",
)
def lateness_counted_from_the_end_of_any_run() -> Planted:
    """The planner stalls, a run is started by hand, and every tick that comes late then counts as on time."""
    free_since = overlap.free_since

    def of_any(tick: Any, unfinished: Any, finished: Any) -> datetime | None:
        if tick.overlap.kind not in overlap.WAITING_KINDS:
            return free_since(tick, unfinished, finished)
        return None if unfinished else max([tick.run_at, *(one.finished_at for one in finished)])

    return patch.object(overlap, "free_since", of_any)


@bug(
    "the newest tick may not be written yet",
    "tests/incidents/test_policy_pairs.py::test_no_checker_finds_a_newer_tick_than_the_one_that_latest_ran",
)
def newest_of_what_is_written() -> Planted:
    """The workers are back before the planners and run the newest tick that they find; the planners then
    write a newer one, which runs too."""
    return patch.object(verdict._Session, "_newest_due", lambda self, tick: self.facts.newest_due)


async def _latest_cursor(tx: Any, schedule: Any) -> Any:
    (cursor,) = await tx.lock(CURSORS.at(*SCHEDULES.key_of(schedule), schedule["version"]))
    return cursor
