"""What several parts of the store do to runs alike, within a transaction of theirs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from fencepost.model.clocks import StoreTime
from fencepost.model.codec import schedule_from_text
from fencepost.model.identifiers import JobName, Namespace, Queue, RunKey, ScheduleId
from fencepost.model.run import Origin, RunRecord
from fencepost.rules.rows import to_run_record
from fencepost.stores.postgres.runs import READINGS
from fencepost.stores.queries import load_queries

if TYPE_CHECKING:
    from fencepost.stores.postgres.connection import Row, Session

QUERIES = load_queries(__package__, "writing.sql")
PAUSE_S = 0.02
TRIES_OF_PEOPLE = 50
"""How often somebody who asks once, and waits for the answer, looks for a run that is locked."""

RunName: TypeAlias = tuple[Namespace, RunKey]


class Place(NamedTuple):
    """Where the runs of one version go."""

    job: JobName
    queue: Queue
    priority: int


async def store_time(session: Session) -> StoreTime:
    """The store's clock, read within the transaction."""
    return StoreTime(await session.fetchval(QUERIES["now"]))


async def tell(session: Session) -> None:
    """Wake those who wait for runs."""
    await session.fetch(QUERIES["tell"])


async def ring(session: Session, schedules: Iterable[tuple[Namespace, ScheduleId | None]]) -> None:
    """Runs of these schedules ended: where ticks wait for their turn, one of each schedule is unparked."""
    freed = sorted({(namespace, one) for namespace, one in schedules if one is not None})
    if freed:
        await session.fetch(QUERIES["ring"], [owner for owner, _ in freed], [one for _, one in freed])


async def lock_schedule(session: Session, namespace: Namespace, schedule_id: ScheduleId) -> Row | None:
    """Wait for the schedule; None where there is none."""
    return await session.fetchrow(QUERIES["lock_schedule"], namespace, schedule_id)


async def lock_planning(session: Session, namespace: Namespace, schedule_id: ScheduleId) -> Row | None:
    """Wait for the schedule and for its cursors, so that nobody else writes ticks of it; None where there is
    none."""
    row = await lock_schedule(session, namespace, schedule_id)
    await session.fetch(QUERIES["lock_cursors"], namespace, schedule_id)
    return row


async def touch_planning(session: Session, namespace: Namespace, schedule_id: ScheduleId) -> None:
    """Ticks of the schedule were written beside its planner, whose plans in flight are to be dropped."""
    await session.fetch(QUERIES["touch_cursors"], namespace, schedule_id)


async def lock_ended(session: Session, namespace: Namespace, run_keys: Sequence[RunKey]) -> set[RunKey]:
    """Wait for the schedules of these runs, then for those of the runs that have ended; returns which."""
    await session.fetch(QUERIES["lock_schedules_of"], namespace, run_keys)
    return {row["run_key"] for row in await session.fetch(QUERIES["lock_ended"], namespace, run_keys)}


async def take_runs(session: Session, runs: Collection[RunName], tries: int) -> set[RunName]:
    """Lock those of the runs that can be had; returns which.

    A statement of the ledger locks a run for a moment, and is worth another look. A job locks it for as long
    as its transaction is open, and whoever waited for that would fail with all else that it was about to do.
    """
    taken: set[RunName] = set()
    for number in range(tries):
        left = sorted(set(runs) - taken)
        if not left:
            break
        if number:
            await session.fetch(QUERIES["pause"], PAUSE_S)
        names = [namespace for namespace, _ in left], [run_key for _, run_key in left]
        taken |= {
            (row["namespace"], row["run_key"]) for row in await session.fetch(QUERIES["take_runs"], *names)
        }
    return taken


async def read_runs(
    session: Session, namespace: Namespace, run_keys: Sequence[RunKey]
) -> Mapping[RunKey, RunRecord]:
    """These runs as they are now, those that are there."""
    rows = await session.fetch(READINGS["get_many"], namespace, run_keys)
    return {row["run_key"]: to_run_record(row) for row in rows}


async def send_again(
    session: Session,
    namespace: Namespace,
    due: Mapping[RunKey, datetime],
    origin: Origin,
    backfill_id: int | None = None,
) -> None:
    """Let ended runs be ready once more, each due when it says. Its attempts stay; all else is as if it had
    never begun."""
    if due:
        await session.fetch(
            QUERIES["send_again"], namespace, list(due), list(due.values()), origin, backfill_id
        )


async def read_places(
    session: Session, namespace: Namespace, schedule_id: ScheduleId, versions: Iterable[int]
) -> Mapping[int, Place]:
    """Where the runs of these versions go, those that are there."""
    rows = await session.fetch(QUERIES["versions"], namespace, schedule_id, sorted(set(versions)))
    return {row["version"]: _place(row) for row in rows}


def _place(row: Row) -> Place:
    spec = schedule_from_text(row["spec"])
    return Place(spec.job, spec.queue or row["queue"], spec.priority or row["priority"])
