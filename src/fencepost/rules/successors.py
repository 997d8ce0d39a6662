"""Successors: the runs that follow a run are enqueued in the transaction that ends it.

The caller has the rows of the runs that ended. A job without successors costs one query, which stores avoid
where they can. A link is kept of each predecessor: from it a join knows which have ended, and a run what it
follows. Links of one join are written in turn, so that of two predecessors that end at once the second sees
the first.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple
from zlib import crc32

from fencepost.core.successors import counts, follows
from fencepost.model.chain import Chain, Successor, root_of, successor_key
from fencepost.model.identifiers import JobName, Namespace, RunKey
from fencepost.model.job import PRIORITY_BEHIND, AfterOn, JobSpec
from fencepost.model.run import Predecessor, RunState
from fencepost.model.table import Key, Row
from fencepost.model.tables import ATTEMPTS, JOBS, RUN_LINKS, RUN_LINKS_BY_SUCCESSOR, RUNS, SUCCESSORS
from fencepost.ports.rows import Transaction
from fencepost.ports.signals import Topic
from fencepost.rules.rows import job_if_readable

TURNS = 64
"""The joins share this number of turns: their names stay few, and two joins are seldom in the same turn."""


class _Link(NamedTuple):
    """A run that ended, and the successor that it is for."""

    run: Row
    successor: Row
    key: RunKey
    predecessors: Sequence[JobName]

    @property
    def is_join(self) -> bool:
        return len(self.predecessors) > 1

    @property
    def predecessor(self) -> JobName:
        """The name by which the successor's job knows the run's job; a renamed job has its first name."""
        job = JobName(self.run["job"])
        return job if job in self.predecessors else self.predecessors[0]

    def fits(self, ends: Mapping[JobName, set[RunState]]) -> bool:
        return follows(AfterOn(self.successor["after_on"]), self.predecessors, ends)


async def follow(tx: Transaction, ended: Sequence[Row]) -> None:
    """Enqueue the successors of these runs, each once for ever."""
    runs = [run for run in ended if counts(RunState(run["state"]))]
    jobs = sorted({(run["namespace"], run["job"]) for run in runs})
    found = await tx.find(SUCCESSORS.each(jobs)) if jobs else []
    if not found:
        return
    known = await tx.find(JOBS.among(sorted({(one["namespace"], one["job"]) for one in found})))
    specs = {JOBS.key_of(row): row for row in known}
    links = [one for run in runs for one in _links(run, found, specs)]
    if not links:
        return
    for turn in sorted({_turn_of(one) for one in links if one.is_join}):
        await tx.take_turn(turn)
    await _keep(tx, links)
    chosen = _by_key(one for one in links if not one.is_join) | _by_key(await _complete(tx, links))
    if chosen:
        now = await tx.now()
        said = {"run_at": now, "created_at": now}
        new = [_new_run(one, specs[_job_of(one)]) | said for one in chosen.values()]
        if await tx.put_if_absent(RUNS, new):
            tx.hint(Topic.RUNS)


async def put_successors(
    tx: Transaction,
    namespace: Namespace,
    before: Mapping[JobName, JobSpec],
    now: Mapping[JobName, JobSpec],
) -> None:
    """Set the successors to those of these specs, where they differ from before."""
    there, wanted = _rows(namespace, before), _rows(namespace, now)
    gone = sorted(key for key, row in there.items() if wanted.get(key) != row)
    await tx.delete(SUCCESSORS, await tx.lock(SUCCESSORS.among(gone)) if gone else [])
    await tx.put_if_absent(SUCCESSORS, [row for key, row in wanted.items() if there.get(key) != row])


async def read_chain(tx: Transaction, namespace: Namespace, run_key: RunKey) -> Chain:
    """The runs right before and right after one."""
    before = await tx.find(RUN_LINKS_BY_SUCCESSOR(namespace, run_key))
    then = await tx.find(RUN_LINKS.all(namespace, run_key))
    keys = [(namespace, link["run_key"]) for link in before]
    then = list({link["successor"]: link for link in then}.values())
    named = [*keys, *((namespace, link["successor"]) for link in then)]
    runs = {run["run_key"]: run for run in await tx.find(RUNS.among(named))} if named else {}
    kept: dict[str, Row] = {}
    for attempt in await tx.find(ATTEMPTS.each(keys)) if keys else []:
        kept[attempt["run_key"]] = attempt
    return Chain(
        tuple(_predecessor(link, kept.get(link["run_key"])) for link in before),
        tuple(
            Successor(
                RunKey(link["successor"]),
                JobName(link["job"]),
                RunState(runs[link["successor"]]["state"]) if link["successor"] in runs else None,
            )
            for link in then
        ),
    )


def _predecessor(link: Row, last: Row | None) -> Predecessor:
    state = RunState(link["state"])
    result = last["output"] if last is not None and state is RunState.SUCCEEDED else None
    error = last["error"] if last is not None and state is not RunState.SUCCEEDED else None
    return Predecessor(RunKey(link["run_key"]), JobName(link["predecessor"]), state, result, error)


def _links(run: Row, successors: Iterable[Row], specs: Mapping[Key, Row]) -> list[_Link]:
    """Of a join each end is noted; of a chain only one that is followed. Of the names of one job its first
    name comes last."""
    root = root_of(run["run_key"], is_tick=run["schedule_id"] is not None)
    links = []
    for successor in successors:
        if (successor["namespace"], successor["predecessor"]) == (run["namespace"], run["job"]):
            names = json.loads(successor["predecessors"])
            key = successor_key(_key_name(successor, specs), root, joins=len(names) > 1)
            links.append(_Link(run, successor, key, names))
    links.sort(key=lambda one: one.key.startswith(f"{one.successor['job']}#"))
    return [one for one in links if one.is_join or one.fits({one.predecessor: {RunState(run["state"])}})]


def _key_name(successor: Row, specs: Mapping[Key, Row]) -> JobName:
    """The name of a job in the keys of its runs: a job that was renamed keeps those that it has used."""
    row = specs.get((successor["namespace"], successor["job"]))
    spec = None if row is None else job_if_readable(row["spec"])
    return JobName(successor["job"]) if spec is None else spec.key_name


def _by_key(links: Iterable[_Link]) -> dict[Key, _Link]:
    """One link of each key, the last: while old and new code run a job may have two names."""
    return {(one.run["namespace"], one.key): one for one in links}


async def _keep(tx: Transaction, links: Collection[_Link]) -> None:
    """A run that was replayed ends again: its last end counts."""
    rows = [
        {
            "namespace": one.run["namespace"],
            "run_key": one.run["run_key"],
            "job": one.successor["job"],
            "predecessor": one.predecessor,
            "state": one.run["state"],
            "successor": one.key,
        }
        for one in links
    ]
    new = {RUN_LINKS.key_of(row) for row in await tx.put_if_absent(RUN_LINKS, rows)}
    again = {key: row for row in rows if (key := RUN_LINKS.key_of(row)) not in new}
    if again:
        known = await tx.lock(RUN_LINKS.among(sorted(again)))
        await tx.change(RUN_LINKS, [(row, again[RUN_LINKS.key_of(row)]) for row in known])


async def _complete(tx: Transaction, links: Collection[_Link]) -> list[_Link]:
    """The links whose join is complete."""
    joins = _by_key(one for one in links if one.is_join)
    ends: dict[Key, dict[JobName, set[RunState]]] = {key: {} for key in joins}
    for link in await tx.find(RUN_LINKS_BY_SUCCESSOR.each(sorted(joins))) if joins else []:
        of_join = ends[link["namespace"], link["successor"]]
        of_join.setdefault(JobName(link["predecessor"]), set()).add(RunState(link["state"]))
    return [one for key, one in joins.items() if one.fits(ends[key])]


def _new_run(link: _Link, job: Row) -> Row:
    """The run has the fire time of the run that it follows, and comes behind live work where that did."""
    behind = link.run["priority"] == PRIORITY_BEHIND
    return {
        "namespace": link.run["namespace"],
        "run_key": link.key,
        "job": job["name"],
        "fire_time": link.run["fire_time"],
        "state": RunState.READY.value,
        "queue": job["queue"],
        "priority": PRIORITY_BEHIND if behind else job["priority"],
        "payload": "{}",
    }


def _turn_of(link: _Link) -> str:
    return f"join {crc32(link.key.encode()) % TURNS}"


def _job_of(link: _Link) -> Key:
    return link.successor["namespace"], link.successor["job"]


def _rows(namespace: Namespace, specs: Mapping[JobName, JobSpec]) -> dict[Key, Row]:
    """Which job follows which. A predecessor that was renamed is followed under its old names too: runs of
    those may not have ended yet."""
    rows: dict[Key, Row] = {}
    for name, spec in sorted(specs.items()):
        for one in spec.after:
            others = [other for other in spec.after if other != one]
            said = {"job": name, "after_on": spec.after_on.value, "predecessors": json.dumps([one, *others])}
            before = specs[one].renamed_from if one in specs else ()
            for known_as in (one, *(old for old in before if old not in specs)):
                row = {"namespace": namespace, "predecessor": known_as, **said}
                rows[SUCCESSORS.key_of(row)] = row
    return rows
