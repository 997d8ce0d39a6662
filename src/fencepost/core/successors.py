"""After which ends of its predecessors a job runs.

| the run ended | success | failure | any |
| --- | --- | --- | --- |
| `succeeded` | yes | | yes |
| `dead`: failed for good, or lost | | yes | yes |
| `cancelled`, `skipped`, `missed` | | | yes |
| `withdrawn` | | | |

A failure is a run that was tried. A withdrawn run was taken back before its time, because its schedule
changed: nothing has ended. A join waits for a run of each of its predecessors; with `failure` at least one of
them must have failed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import assert_never

from fencepost.errors import InvalidSpec
from fencepost.model.identifiers import JobName
from fencepost.model.job import AfterOn
from fencepost.model.run import RunState


def counts(state: RunState) -> bool:
    """Whether an end is one that something may follow."""
    return state is not RunState.WITHDRAWN


def follows(on: AfterOn, predecessors: Collection[JobName], ends: Mapping[JobName, set[RunState]]) -> bool:
    """Whether the successor is to run, by how the runs of its predecessors that belong together ended."""
    if not all(ends.get(one) for one in predecessors):
        return False
    match on:
        case AfterOn.SUCCESS:
            return all(RunState.SUCCEEDED in ends[one] for one in predecessors)
        case AfterOn.FAILURE:
            return any(RunState.DEAD in ends[one] for one in predecessors)
        case AfterOn.ANY:
            return True
        case _ as never:
            assert_never(never)


def check_no_cycle(job: JobName, after: Mapping[JobName, Collection[JobName]]) -> None:
    """Refuse a job that would run after itself, by what each job follows."""
    path = _way_back(job, after)
    if path:
        raise InvalidSpec(f"job {job}: after: {' -> '.join(path)} is a cycle; leave one of them out")


def check_known(after: Mapping[JobName, Collection[JobName]]) -> None:
    """Refuse a job that follows one that is not there."""
    for job, names in after.items():
        for name in names:
            if name not in after:
                near = get_close_matches(name, after, n=1)
                hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(after))}"
                raise InvalidSpec(f"job {job}: after {name}: not defined in this application; {hint}")


def _way_back(job: JobName, after: Mapping[JobName, Collection[JobName]]) -> list[JobName]:
    """The jobs from this one to itself, each before the one that follows it; empty where there is no way."""
    follower: dict[JobName, JobName] = {}
    waiting = [job]
    while waiting and job not in follower:
        name = waiting.pop()
        for one in after.get(name, ()):
            if one not in follower:
                follower[one] = name
                waiting.append(one)
    if job not in follower:
        return []
    path = [job, follower[job]]
    while path[-1] != job:
        path.append(follower[path[-1]])
    return path
