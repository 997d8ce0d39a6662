"""Job specs in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fencepost.model.identifiers import JobName, Namespace
from fencepost.model.job import JobSpec
from fencepost.stores.memory.tables import Tables


class MemoryJobs:
    """See `ports.jobs`."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def register(self, namespace: Namespace, specs: Sequence[JobSpec]) -> None:
        for spec in specs:
            self._tables.jobs[namespace, spec.name] = spec

    async def all(self, namespace: Namespace) -> Mapping[JobName, JobSpec]:
        return {name: spec for (owner, name), spec in self._tables.jobs.items() if owner == namespace}
