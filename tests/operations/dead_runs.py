"""A house with runs that have died."""

from __future__ import annotations

from fencepost.errors import PermanentFailure
from fencepost.model.identifiers import JobName
from fencepost.model.job import JobSpec, Retry
from fencepost.operations.control import Control
from tests.services.house import NS, House, WorkingNode, make_job
from tests.services.verbs_work import ANNA


def fails(**payload: object) -> None:
    raise PermanentFailure("no fuel")


async def burnt(house: House, *keys: str) -> Control:
    """These runs of the job `burn`, dead, a second apart."""
    await house.memory.jobs.register(NS, [JobSpec(JobName("burn"), retry=Retry(1), open_payload=True)])
    worker = WorkingNode(house, make_job(fails, "burn"))
    for key in keys:
        await house.enqueue(key, "burn")
        await worker.work()
        house.clock.advance(1)
    return Control(house.store, NS, ANNA)
