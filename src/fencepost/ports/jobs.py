"""What the store knows of jobs: their specs, so that a process without their code can enqueue and rescue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from fencepost.model.identifiers import JobName, Namespace
from fencepost.model.job import JobSpec


class Jobs(Protocol):
    """Job specs by name. The last writer wins: a spec only steers runs that are yet to start."""

    async def register(self, namespace: Namespace, specs: Sequence[JobSpec]) -> None:
        """Write the specs, replacing those of the same name; others stay."""
        ...

    async def all(self, namespace: Namespace) -> Mapping[JobName, JobSpec]:
        """Every known job of the namespace."""
        ...
