"""Job specs in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fencepost.model.identifiers import JobName, Namespace
from fencepost.model.job import JobSpec
from fencepost.stores.memory.lines import release_lined, stamp_running
from fencepost.stores.memory.tables import LimitRow, Tables


class MemoryJobs:
    """See `ports.jobs`."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def register(self, namespace: Namespace, specs: Sequence[JobSpec]) -> None:
        for spec in specs:
            before = self._tables.limit_of(namespace, spec.name)
            self._tables.jobs[namespace, spec.name] = spec
            if spec.limit != before:
                self._change_limit(namespace, spec)

    async def all(self, namespace: Namespace) -> Mapping[JobName, JobSpec]:
        return {name: spec for (owner, name), spec in self._tables.jobs.items() if owner == namespace}

    def _change_limit(self, namespace: Namespace, spec: JobSpec) -> None:
        """What waits for the limits is looked at anew; what runs counts for what it now would."""
        row = self._tables.limits.setdefault((namespace, spec.name), LimitRow())
        row.next_at = None
        release_lined(self._tables, namespace, spec.name)
        stamp_running(self._tables)
