"""Serving: which jobs no running process has, so that schedules of them fire into nothing.

Each worker reports the jobs of its application. A worker of an older release reports none: then it may have
any job. Programs that no list of nodes knows carry out external jobs, so these are never listed. Where no
process works at all, that is the problem, and single jobs are not listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import JobName, Namespace, ScheduleId
from fencepost.model.job import JobSpec
from fencepost.model.node import NodeRecord


@dataclass(frozen=True, slots=True)
class Unserved:
    """An active schedule whose job no running process has."""

    schedule_id: ScheduleId
    job: JobName

    @property
    def words(self) -> str:
        return f"schedule {self.schedule_id}: {unserved_words(self.job)}"


def unserved_words(job: JobName) -> str:
    """What is said of its schedules."""
    return f"no running process has job {job}"


def unserved_jobs(
    jobs: Mapping[JobName, JobSpec],
    nodes: Iterable[NodeRecord],
    namespace: Namespace,
    own: Iterable[JobName] | None = None,
) -> list[JobName]:
    """The registered jobs that no live worker of the namespace has, by name. `own` are the jobs of a process
    that is about to start."""
    served = served_jobs(nodes, namespace, own)
    if served is None:
        return []
    return sorted(name for name, spec in jobs.items() if name not in served and not spec.external)


def served_jobs(
    nodes: Iterable[NodeRecord], namespace: Namespace, own: Iterable[JobName] | None = None
) -> set[JobName] | None:
    """The jobs that live workers of the namespace have; None where that is not known."""
    said = [one.report.jobs for one in nodes if one.node.works and one.node.namespace == namespace]
    if own is not None:
        said.append(tuple(own))
    if not said or None in said:
        return None
    return {job for some in said for job in some or ()}
