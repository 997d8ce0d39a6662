"""Names by which runs are unique: one row each, on which callers that want the same name meet.

A caller that wants a name writes its row, or waits for another that is about to, and locks it. Under that
lock it looks at the run that took the name last. Whether that run keeps the name is decided only here, so
nothing is written when the run begins or ends. A run that is still queued is locked as well. It cannot begin
before the caller commits, and so it sees what the caller wrote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from fencepost.errors import StoreUnavailable
from fencepost.model.clocks import StoreTime, later
from fencepost.model.enqueueing import Unique, UniqueWhile
from fencepost.model.identifiers import Namespace, RunKey
from fencepost.model.run import NewRun
from fencepost.model.table import Key, Row
from fencepost.model.tables import RUNS, UNIQUE_RUNS
from fencepost.ports.rows import Transaction
from fencepost.ports.signals import Topic
from fencepost.rules.expiry import has_expired
from fencepost.rules.runs import WAITING

TRIES = 5
"""How often a name is tried whose row retention removes meanwhile."""


async def take_names(
    tx: Transaction, namespace: Namespace, runs: Sequence[NewRun], now: StoreTime
) -> list[RunKey]:
    """For each run the key of the run that has its name: its own where it has taken it, or wants none."""
    names = [_name_of(namespace, run) for run in runs]
    first: dict[Key, NewRun] = {}
    for run, name in zip(runs, names, strict=True):
        if name is not None:
            first.setdefault(name, run)
    rows, fresh = await _locked(tx, {name: _row(name, run, now) for name, run in first.items()})
    before = {name: (namespace, row["run_key"]) for name, row in rows.items() if name not in fresh}
    holders = {RUNS.key_of(run): run for run in await tx.find(RUNS.among(before.values()))} if before else {}
    waiting = [before.get(name or ()) for run, name in zip(runs, names, strict=True) if _waits(run)]
    holders |= await _lock_queued(tx, [holders.get(key or ()) for key in waiting])
    answers = []
    for run, name in zip(runs, names, strict=True):
        if name is None or run.unique is None or (name in fresh and first[name] is run):
            answers.append(run.run_key)
        elif name not in before or _keeps(rows[name], holders.get(before[name]), run.unique, now):
            answers.append(RunKey(rows[name]["run_key"]))
        else:
            (rows[name],) = await tx.change(UNIQUE_RUNS, [(rows[name], _taken(run, now))])
            del before[name]
            answers.append(run.run_key)
    return answers


async def _locked(tx: Transaction, wanted: Mapping[Key, Row]) -> tuple[dict[Key, Row], set[Key]]:
    """The rows of these names, and the names that were new; all callers go by the order of the names."""
    rows, fresh = dict[Key, Row](), set[Key]()
    for _ in range(TRIES):
        missing = sorted(wanted.keys() - rows.keys())
        if not missing:
            return rows, fresh
        written = await tx.put_if_absent(UNIQUE_RUNS, [wanted[name] for name in missing])
        rows |= {UNIQUE_RUNS.key_of(row): row for row in written}
        fresh |= {UNIQUE_RUNS.key_of(row) for row in written}
        there = [name for name in missing if name not in rows]
        if there:
            rows |= {UNIQUE_RUNS.key_of(row): row for row in await tx.lock(UNIQUE_RUNS.among(there))}
    raise StoreUnavailable("the names of unique runs were removed all the time; try again")


async def _lock_queued(tx: Transaction, found: Sequence[Row | None]) -> dict[Key, Row]:
    """The runs that have not begun, under their locks, so that none begins before this is committed."""
    keys = sorted({RUNS.key_of(run) for run in found if run is not None and _is_queued(run)})
    if not keys:
        return {}
    tx.hint(Topic.RUNS)  # Claimers pass by them meanwhile.
    return {RUNS.key_of(run): run for run in await tx.lock(RUNS.among(keys))}


def _name_of(namespace: Namespace, run: NewRun) -> Key | None:
    """Names belong to a job, under the name that its keys have: so a job that was renamed keeps them."""
    job = run.run_key.partition("#")[0]
    return None if run.unique is None else (namespace, job, run.unique.name_for(run.payload))


def _waits(run: NewRun) -> bool:
    return run.unique is not None and run.unique.by is UniqueWhile.QUEUED


def _row(name: Key, run: NewRun, now: StoreTime) -> Row:
    return {**dict(zip(UNIQUE_RUNS.key, name, strict=True)), **_taken(run, now)}


def _taken(run: NewRun, now: StoreTime) -> Row:
    period = timedelta() if run.unique is None else run.unique.period
    return {"run_key": run.run_key, "taken_at": now, "until": later(now, period.total_seconds())}


def _keeps(row: Row, holder: Row | None, unique: Unique, now: StoreTime) -> bool:
    """Whether the run that took the name last still has it, by the terms of the run that asks."""
    if isinstance(unique.by, timedelta):
        return bool(now < row["taken_at"] + unique.by)
    if holder is None or has_expired(holder, now):
        return False
    return _is_queued(holder) if unique.by is UniqueWhile.QUEUED else holder["finished_at"] is None


def _is_queued(run: Row) -> bool:
    return run["state"] in WAITING and run["first_started_at"] is None
