"""The job cache: the specs of a namespace, as they were a moment ago."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from fencepost.core.retry_budget import RetryBudget
from fencepost.model.identifiers import JobName, Namespace
from fencepost.model.job import JobSpec
from fencepost.ports.store import Store

FRESH_S = 2.0


class JobCache:
    """Read again after a while, and for a job that is not in it. It keeps this process's retry budgets."""

    def __init__(self, store: Store, namespace: Namespace) -> None:
        self._store = store
        self._namespace = namespace
        self._specs: Mapping[JobName, JobSpec] = {}
        self._stale_at = 0.0
        self._budgets: dict[tuple[JobName, float], RetryBudget] = {}

    async def spec(self, job: str) -> JobSpec | None:
        """The spec of a job, None where no such job is registered."""
        name = JobName(job)
        if name not in self._specs or asyncio.get_running_loop().time() >= self._stale_at:
            await self.refresh()
        return self._specs.get(name)

    async def refresh(self) -> Mapping[JobName, JobSpec]:
        """All specs, as they are now."""
        self._specs = await self._store.jobs.all(self._namespace)
        self._stale_at = asyncio.get_running_loop().time() + FRESH_S
        return self._specs

    def budget(self, spec: JobSpec) -> RetryBudget | None:
        """The budget that pays for the retries of a job; None where the job has none."""
        share = spec.retry.budget
        if share is None:
            return None
        return self._budgets.setdefault((spec.name, share), RetryBudget(share))
