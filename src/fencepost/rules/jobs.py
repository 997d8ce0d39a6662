"""Job specs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fencepost.model.codec import job_from_text, job_to_text
from fencepost.model.identifiers import JobName, Namespace
from fencepost.model.job import AfterOn, JobSpec
from fencepost.model.table import Row
from fencepost.model.tables import JOBS
from fencepost.ports.rows import Transaction
from fencepost.rules.limits import put_limits, release, waiting
from fencepost.rules.part import Part, reads, writes
from fencepost.rules.rows import columns_of, job_if_readable
from fencepost.rules.successors import put_successors

SAID = ("spec", "queue", "priority")
RELEASE_MAX = 1_000
"""How many runs that wait for limits are let go in one transaction."""


class JobRules(Part):
    """See `ports.jobs`."""

    async def register(self, namespace: Namespace, specs: Sequence[JobSpec]) -> None:
        changed = await self._register(namespace, specs)
        for _ in range(await self._waiting(namespace, changed) // RELEASE_MAX + 1 if changed else 0):
            await self._release(namespace, changed)

    @writes
    async def _release(self, tx: Transaction, namespace: Namespace, jobs: Sequence[JobName]) -> None:
        await release(tx, namespace, jobs, RELEASE_MAX)

    @reads
    async def _waiting(self, tx: Transaction, namespace: Namespace, jobs: Sequence[JobName]) -> int:
        return await waiting(tx, namespace, jobs)

    @writes
    async def _register(
        self, tx: Transaction, namespace: Namespace, specs: Sequence[JobSpec]
    ) -> Sequence[JobName]:
        latest = {spec.name: spec for spec in specs}
        now = await tx.now()
        rows = [
            {**columns_of(JOBS, spec), "namespace": namespace, "spec": job_to_text(spec), "updated_at": now}
            for _, spec in sorted(latest.items())
        ]
        new = {row["name"] for row in await tx.put_if_absent(JOBS, rows)}
        said = {row["name"]: row for row in rows if row["name"] not in new}
        old = {name for spec in specs for name in spec.renamed_from} - latest.keys()
        known = await tx.lock(JOBS.among((namespace, name) for name in sorted(old | said.keys())))
        changed = [job for job in known if job["name"] in said and _differs(job, said[job["name"]])]
        before = {job["name"]: spec for job in known if (spec := job_if_readable(job["spec"])) is not None}
        renamed = [job for job in known if job["name"] in old & before.keys() and before[job["name"]].after]
        if new or changed or renamed:
            await put_successors(tx, namespace, before, latest)
        await tx.change(JOBS, [(job, said[job["name"]]) for job in changed])
        await tx.change(JOBS, [(job, _following_none(before[job["name"]])) for job in renamed])
        return await put_limits(tx, namespace, latest.values())

    @reads
    async def all(self, tx: Transaction, namespace: Namespace) -> Mapping[JobName, JobSpec]:
        rows = await tx.find(JOBS.all(namespace))
        return {row["name"]: job_from_text(row["spec"]) for row in rows}


def _differs(known: Row, said: Row) -> bool:
    return any(known[one] != said[one] for one in SAID)


def _following_none(spec: JobSpec) -> Row:
    """A job that has another name now follows only under that name. Old code that comes back finds its job
    changed, and writes again what it follows."""
    return {"spec": job_to_text(replace(spec, after=(), after_on=AfterOn.SUCCESS))}
