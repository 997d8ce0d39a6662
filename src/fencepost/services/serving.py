"""Asks a store which schedules have a job that no running process has; `core.serving` decides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fencepost.core.serving import Unserved, unserved_jobs
from fencepost.model.identifiers import JobName, Namespace
from fencepost.model.schedule import ScheduleFilter, ScheduleState
from fencepost.ports.store import Store

UNSERVED_MAX = 100
"""How many schedules are reported, and for how many jobs schedules are looked for."""


async def jobs_unserved(
    store: Store, namespace: Namespace, own: Iterable[JobName] | None = None
) -> Sequence[JobName]:
    """The registered jobs that no running process has."""
    jobs = await store.jobs.all(namespace)
    return unserved_jobs(jobs, await store.nodes.live(), namespace, own) if jobs else []


async def unserved(
    store: Store, namespace: Namespace, own: Iterable[JobName] | None = None
) -> Sequence[Unserved]:
    """The active schedules of those jobs, up to `UNSERVED_MAX`."""
    return await schedules_of(store, namespace, await jobs_unserved(store, namespace, own))


async def schedules_of(store: Store, namespace: Namespace, jobs: Sequence[JobName]) -> Sequence[Unserved]:
    """The same for jobs that are known to be unserved."""
    found: list[Unserved] = []
    for job in jobs[:UNSERVED_MAX]:
        left = UNSERVED_MAX - len(found)
        wanted = ScheduleFilter(job=job, state=ScheduleState.ACTIVE, limit=left)
        some = await store.schedules.find(namespace, wanted) if left else ()
        found += [Unserved(one.schedule_id, job) for one in some]
    return found
