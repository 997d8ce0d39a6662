"""What is there under a name: a schedule, a job, a run; or the refusal that helps to find it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from difflib import get_close_matches

from fencepost.errors import UnknownJob, UnknownRun, UnknownSchedule
from fencepost.model.identifiers import JobName, Namespace, ScheduleId
from fencepost.model.job import JobSpec
from fencepost.model.run import RunRecord
from fencepost.model.schedule import Schedule, ScheduleState, ScheduleVersion
from fencepost.ports.store import Store

PAGE = 500


async def find_schedule(store: Store, namespace: Namespace, schedule_id: str) -> Schedule:
    """The schedule, or a refusal that names near ones."""
    found = await store.schedules.get(namespace, ScheduleId(schedule_id))
    if found is None and (kept := await schedule_id_of(store, namespace, schedule_id)) != schedule_id:
        found = await store.schedules.get(namespace, kept)
    if found is None or found.state is ScheduleState.REMOVED:
        raise await unknown_schedule(store, namespace, schedule_id)
    return found


async def versions_of(
    store: Store, namespace: Namespace, schedule_id: str, *, after: int = 0, limit: int | None = None
) -> Sequence[ScheduleVersion]:
    """The versions after that one, at most `limit`, the oldest first; also of a removed schedule."""
    name = ScheduleId(schedule_id)
    versions = await store.schedules.history(namespace, name, after=after, limit=limit)
    if not versions and not after and (kept := await schedule_id_of(store, namespace, schedule_id)) != name:
        return await versions_of(store, namespace, kept, limit=limit)
    if not versions and await store.schedules.get(namespace, name) is None:
        raise await unknown_schedule(store, namespace, schedule_id)
    return versions


async def all_schedules(store: Store, namespace: Namespace) -> AsyncIterator[Schedule]:
    """Every schedule that is not removed, a page at a time."""
    after: ScheduleId | None = None
    while page := await store.schedules.page(namespace, after, PAGE):
        for schedule in page:
            yield schedule
        after = page[-1].schedule_id


async def unknown_schedule(store: Store, namespace: Namespace, schedule_id: str) -> UnknownSchedule:
    """What is said where there is none of that id."""
    page = await store.schedules.page(namespace, None, PAGE)
    near = get_close_matches(schedule_id, [one.schedule_id for one in page], n=1)
    hint = f"; did you mean {near[0]}?" if near else "; see: fencepost schedules list"
    return UnknownSchedule(f"schedule {schedule_id}: not found{hint}")


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


def known_run(run_key: str, found: RunRecord | None) -> RunRecord:
    """The run, or a refusal."""
    if found is None:
        raise unknown_run(run_key)
    return found


def unknown_run(run_key: str) -> UnknownRun:
    """What is said where there is none of that key."""
    return UnknownRun(f"run {run_key}: not found; see: fencepost runs list")
