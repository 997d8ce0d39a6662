"""What can be done with runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from difflib import get_close_matches
from functools import partial

from fencepost.clock import time_ordered_id
from fencepost.core.fingerprints import Fingerprint, fingerprints
from fencepost.core.payload import check_payload
from fencepost.errors import UnknownJob, UnknownRun, UsageError
from fencepost.model.chain import Chain
from fencepost.model.durations import parse_duration
from fencepost.model.enqueue_options import AS_THE_JOB_SAYS, EnqueueOptions
from fencepost.model.enqueueing import Entered, parse_expires, parse_unique
from fencepost.model.identifiers import JobName, Namespace, Queue, RunKey, ScheduleId, job_key
from fencepost.model.job import JobSpec
from fencepost.model.json import JsonObject
from fencepost.model.run import (
    REPLAYABLE,
    Attempt,
    NewRun,
    Ordered,
    RunFilter,
    RunList,
    RunPlace,
    RunRecord,
    RunState,
)
from fencepost.model.run_log import LOG_BEGIN, LoggedChunk, LogPlace
from fencepost.model.times import YEAR_FIRST, YEAR_LAST, to_utc_text
from fencepost.ports.store import Store
from fencepost.services.enqueueing import enqueue
from fencepost.services.verbs.verbs import PROGRAM, Verbs
from fencepost.telemetry import traces

BATCH_MAX = 500
LOG_PAGE_MAX = 100
TAIL_CHUNKS = 20
CANCELLED = "cancelled by an operator"
CANCELLED_BY_PROGRAM = "cancelled by a program"


class RunVerbs(Verbs):
    """The runs of one namespace."""

    async def enqueue(
        self,
        job: str,
        payload: JsonObject,
        key: str | None = None,
        options: EnqueueOptions = AS_THE_JOB_SAYS,
    ) -> Entered:
        """One run by hand; the key of the run that is there for it, and whether it is new."""
        spec = await known_job(self._store, self._namespace, job)
        run = new_run(spec, payload, key, options.checked())
        self._run_quota.take(1)
        (entered,) = await enqueue(self._store.ledger, self._namespace, [run], self._author)
        return entered

    async def get(self, run_key: str) -> tuple[RunRecord, Sequence[Attempt]]:
        """A run and its remembered attempts."""
        found = known_run(run_key, await self._store.ledger.get(self._namespace, RunKey(run_key)))
        return found, await self._store.ledger.attempts(self._namespace, RunKey(run_key))

    async def chain(self, run_key: str) -> Chain:
        """What a run followed, and what follows it."""
        return await self._store.ledger.chain(self._namespace, RunKey(run_key))

    async def effects(self, run_key: str) -> Sequence[Fingerprint]:
        """What each attempt of a run said that it did."""
        return fingerprints(await self._store.steps.recorded(self._namespace, RunKey(run_key)))

    async def getting(self, run_keys: Sequence[str]) -> AsyncIterator[Mapping[RunKey, RunRecord]]:
        """Those of these runs that are there, a batch at a time."""
        for batch in _batches(run_keys):
            yield await self._store.ledger.get_many(self._namespace, batch)

    async def log(
        self, run_key: str, attempt: int | None = None, *, after: LogPlace = LOG_BEGIN
    ) -> AsyncIterator[LoggedChunk]:
        """What a run has logged, or one attempt of it, from behind that place to its present end."""
        known_run(run_key, await self._store.ledger.get(self._namespace, RunKey(run_key)))
        read = partial(self._store.run_logs.read, self._namespace, RunKey(run_key), attempt=attempt)
        while page := await read(after=after, limit=LOG_PAGE_MAX):
            for one in page:
                yield one
            after = page[-1].place

    async def log_page(
        self, run_key: str, attempt: int | None, after: LogPlace, limit: int
    ) -> Sequence[LoggedChunk]:
        """The next chunks behind that place."""
        return await self._store.run_logs.read(
            self._namespace, RunKey(run_key), attempt=attempt, after=after, limit=limit
        )

    async def log_tail(self, run_key: str) -> Sequence[LoggedChunk]:
        """The end of what its last attempt has logged."""
        found = await self._store.run_logs.tail(self._namespace, RunKey(run_key), limit=TAIL_CHUNKS)
        return [one for one in found if one.attempt == found[-1].attempt]

    async def list(self, wanted: RunFilter) -> RunList:
        """Runs, newest fire time first; those of a renamed job with those that it had under its old names."""
        store, namespace = self._store, self._namespace
        names = (None,) if wanted.job is None else await names_of(store, namespace, wanted.job)
        found = [await store.ledger.list(namespace, replace(wanted, job=name)) for name in names]
        if wanted.schedule_id is not None and not any(found):
            kept = await schedule_id_of(store, namespace, wanted.schedule_id)
            if kept != wanted.schedule_id:
                return await self.list(replace(wanted, schedule_id=kept))
        return found[0] if len(found) == 1 else merged(found, wanted.limit)

    async def cancel(self, run_key: str, reason: str | None = None) -> RunRecord:
        """End a waiting run, or ask a running one to stop."""
        by = CANCELLED_BY_PROGRAM if self._author == PROGRAM else CANCELLED
        why = reason or self._because(by)
        ledger = self._store.ledger
        found = await ledger.cancel(self._namespace, RunKey(run_key), why, author=self._author)
        run = known_run(run_key, found)
        traces.cancelled(run)
        return run

    async def cancelling(self, run_keys: Sequence[str]) -> AsyncIterator[Mapping[RunKey, Ordered]]:
        """The same for many, a batch at a time: what became of those that are there."""
        why = self._because(CANCELLED)
        for batch in _batches(run_keys):
            found = await self._store.ledger.cancel_many(self._namespace, batch, why, author=self._author)
            for run, refused in found.values():
                if refused is None:
                    traces.cancelled(run)
            yield found

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
        self,
        run_keys: Sequence[str],
        every_s: float,
        *,
        only: frozenset[RunState] = REPLAYABLE,
        first_in_s: float = 0.0,
    ) -> AsyncIterator[Sequence[RunKey]]:
        """The same a batch at a time, for whoever wants to watch; of those in one of these states, the first
        due so much later."""
        batches = list(_batches(run_keys))
        self._run_quota.take(sum(map(len, batches)))
        for batch in batches:
            replayed = await self._store.ledger.replay(
                self._namespace, batch, every_s, self._author, first_in_s=first_in_s, only=only
            )
            self._run_quota.give_back(len(batch) - len(replayed))
            first_in_s += len(replayed) * every_s
            yield replayed


def _batches(run_keys: Sequence[str]) -> Iterator[list[RunKey]]:
    """Each key once, so many at a time that neither a transaction nor an answer grows with them."""
    keys = [RunKey(one) for one in dict.fromkeys(run_keys)]
    for start in range(0, len(keys), BATCH_MAX):
        yield keys[start : start + BATCH_MAX]


async def names_of(store: Store, namespace: Namespace, job: JobName) -> tuple[JobName, ...]:
    """The names of a job: the one that it has, and those that it had before, the first one first."""
    spec = (await store.jobs.all(namespace)).get(job)
    return (job, *spec.renamed_from) if spec is not None else (job,)


async def schedule_id_of(store: Store, namespace: Namespace, schedule_id: str) -> ScheduleId:
    """The id under which a schedule is kept: where it has the name of a renamed job, the one before."""
    name = ScheduleId(schedule_id)
    if await store.schedules.get(namespace, name) is not None:
        return name
    before = [ScheduleId(one) for one in (await names_of(store, namespace, JobName(schedule_id)))[1:]]
    known = await store.schedules.get_many(namespace, before) if before else {}
    return next((one for one in reversed(before) if one in known), name)


def merged(pages: Sequence[RunList], limit: int) -> RunList:
    """One page of several: as far as all of them have been searched."""
    places = [one.searched_to for one in pages if one.searched_to is not None]
    place = max(places, default=None)
    runs = sorted((run for one in pages for run in one), key=_place, reverse=True)
    seen = [run for run in runs if place is None or _place(run) >= place]
    return RunList(seen[:limit], place if len(seen) <= limit else _place(seen[limit - 1]))


def _place(run: RunRecord) -> RunPlace:
    return run.fire_time, run.run_key


async def known_job(store: Store, namespace: Namespace, job: str) -> JobSpec:
    """The job's spec, or a refusal that names near ones."""
    return named_job(await store.jobs.all(namespace), job)


def named_job(jobs: Mapping[JobName, JobSpec], job: str) -> JobSpec:
    """The same of jobs that were read before."""
    found = jobs.get(JobName(job))
    if found is None:
        near = get_close_matches(job, list(jobs), n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; registered: {', '.join(sorted(jobs)) or 'none'}"
        raise UnknownJob(f"job {job}: not registered in this store{hint}")
    return found


def new_run(
    spec: JobSpec,
    payload: JsonObject,
    key: str | None = None,
    options: EnqueueOptions = AS_THE_JOB_SAYS,
) -> NewRun:
    """A run by hand. Without a key of the caller's it gets one that nothing else has."""
    at = options.at
    _check_time(at)
    check_payload(spec, payload)
    until = parse_expires(options.expires)
    if isinstance(until, datetime):
        _check_time(until)
        if at is not None and until <= at:
            raise UsageError(
                f"expires {to_utc_text(until)}: it is not after {to_utc_text(at)}, when the run is due; "
                "name a later instant, or a length of time such as 10m after that"
            )
    run_key = job_key(spec.key_name, key if key is not None else time_ordered_id())
    queue = spec.queue if options.queue is None else Queue(options.queue)
    priority = spec.priority if options.priority is None else options.priority
    run_at = at if options.delay is None else parse_duration(options.delay)
    only = parse_unique(options.unique)
    return NewRun(run_key, spec.name, payload, queue, priority, run_at, until, only)


def known_run(run_key: str, found: RunRecord | None) -> RunRecord:
    """The run, or a refusal."""
    if found is None:
        raise unknown_run(run_key)
    return found


def unknown_run(run_key: str) -> UnknownRun:
    """What is said where there is none of that key."""
    return UnknownRun(f"run {run_key}: not found; see: fencepost runs list")


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
