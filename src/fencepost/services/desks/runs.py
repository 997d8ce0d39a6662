"""What can be done with runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import datetime
from difflib import get_close_matches
from uuid import uuid4

from fencepost.core.payload import check_payload
from fencepost.errors import UnknownJob, UnknownRun, UsageError
from fencepost.model.identifiers import JobName, Namespace, RunKey, job_key
from fencepost.model.job import JobSpec
from fencepost.model.json import JsonObject
from fencepost.model.run import REPLAYABLE, Attempt, NewRun, RunFilter, RunRecord, RunState
from fencepost.model.times import YEAR_FIRST, YEAR_LAST
from fencepost.ports.store import Store
from fencepost.services.desks.desk import Desk

REPLAY_BATCH_MAX = 500


class RunDesk(Desk):
    """The runs of one namespace."""

    async def enqueue(
        self, job: str, payload: JsonObject, key: str | None = None, at: datetime | None = None
    ) -> tuple[RunKey, bool]:
        """One run by hand; returns its key and whether it is new."""
        spec = await known_job(self._store, self._namespace, job)
        run = new_run(spec, payload, key, at)
        (fresh,) = await self._store.ledger.enqueue(self._namespace, [run], author=self._author)
        return run.run_key, fresh

    async def get(self, run_key: str) -> tuple[RunRecord, Sequence[Attempt]]:
        """A run and its remembered attempts."""
        found = known_run(run_key, await self._store.ledger.get(self._namespace, RunKey(run_key)))
        return found, await self._store.ledger.attempts(self._namespace, RunKey(run_key))

    async def list(self, wanted: RunFilter) -> Sequence[RunRecord]:
        """Runs, newest fire time first."""
        return await self._store.ledger.list(self._namespace, wanted)

    async def all_of(self, wanted: RunFilter) -> AsyncIterator[RunRecord]:
        """The same to the last one, a page of `limit` at a time.

        A page may end amid the runs of one fire time, so the next one begins there again. One that has no
        room for a whole fire time would get no further: the next is larger.
        """
        seen: set[RunKey] = set()
        while page := await self.list(wanted):
            for run in page:
                if run.run_key not in seen:
                    yield run
            if len(page) < wanted.limit:
                return
            first, last = page[0].fire_time, page[-1].fire_time
            seen |= {run.run_key for run in page if run.fire_time == last}
            limit = 2 * wanted.limit if first == last else wanted.limit
            wanted = replace(wanted, until=last + datetime.resolution, limit=limit)

    async def cancel(self, run_key: str, reason: str | None = None) -> RunRecord:
        """End a waiting run, or ask a running one to stop."""
        why = reason or self._because("cancelled by an operator")
        ledger = self._store.ledger
        found = await ledger.cancel(self._namespace, RunKey(run_key), why, author=self._author)
        return known_run(run_key, found)

    async def skip(self, run_key: str) -> RunRecord:
        """Call off a run that nobody has begun; any other stays as it is."""
        return known_run(
            run_key, await self._store.ledger.skip(self._namespace, RunKey(run_key), self._author)
        )

    async def hold(self, run_key: str) -> RunRecord:
        """Let nobody start a waiting run until it is released."""
        return known_run(
            run_key, await self._store.ledger.hold(self._namespace, RunKey(run_key), self._author)
        )

    async def release(self, run_key: str) -> RunRecord:
        """Take the hold away again."""
        return known_run(
            run_key, await self._store.ledger.release(self._namespace, RunKey(run_key), self._author)
        )

    async def replay(self, run_keys: Sequence[str], every_s: float = 0.0) -> Sequence[RunKey]:
        """Send ended runs on their way again, one every so often; returns the keys of those that were."""
        replayed: list[RunKey] = []
        async for keys in self.replaying(run_keys, every_s):
            replayed += keys
        return replayed

    async def replaying(
        self, run_keys: Sequence[str], every_s: float, *, only: frozenset[RunState] = REPLAYABLE
    ) -> AsyncIterator[Sequence[RunKey]]:
        """The same a batch at a time, for whoever wants to watch; of those in one of these states."""
        keys = [RunKey(one) for one in dict.fromkeys(run_keys)]
        first_in_s = 0.0
        for start in range(0, len(keys), REPLAY_BATCH_MAX):
            batch = keys[start : start + REPLAY_BATCH_MAX]
            replayed = await self._store.ledger.replay(
                self._namespace, batch, every_s, self._author, first_in_s=first_in_s, only=only
            )
            first_in_s += len(replayed) * every_s
            yield replayed


async def known_job(store: Store, namespace: Namespace, job: str) -> JobSpec:
    """The job's spec, or a refusal that names near ones."""
    jobs = await store.jobs.all(namespace)
    found = jobs.get(JobName(job))
    if found is None:
        near = get_close_matches(job, list(jobs), n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; registered: {', '.join(sorted(jobs)) or 'none'}"
        raise UnknownJob(f"job {job}: not registered in this store{hint}")
    return found


def new_run(spec: JobSpec, payload: JsonObject, key: str | None, at: datetime | None) -> NewRun:
    """A run by hand. Without a key of the caller's it gets one that nothing else has."""
    _check_time(at)
    check_payload(spec, payload)
    run_key = job_key(spec.name, key if key is not None else uuid4().hex)
    return NewRun(run_key, spec.name, payload, spec.queue, spec.priority, at)


def known_run(run_key: str, found: RunRecord | None) -> RunRecord:
    """The run, or a refusal."""
    if found is None:
        raise UnknownRun(f"run {run_key}: not found; see: fencepost runs list")
    return found


def _check_time(at: datetime | None) -> None:
    """Some stores have no place for the first and the last days of the calendar."""
    if at is None:
        return
    if not isinstance(at, datetime):
        raise UsageError(f"time {at!r}: expected a datetime with a zone")
    if at.tzinfo is None:
        raise UsageError(f"time {at.isoformat()}: expected one with a zone, such as {at.isoformat()}+00:00")
    if not YEAR_FIRST <= at.year <= YEAR_LAST:
        raise UsageError(f"time {at.isoformat()}: expected a year from {YEAR_FIRST} to {YEAR_LAST}")
