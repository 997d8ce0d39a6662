"""The behaviour of the store of jobs."""

from __future__ import annotations

from datetime import timedelta

from fencepost.model.identifiers import Queue
from fencepost.model.job import JobSpec, Parameter, Retry
from fencepost.testing.conformance.builders import JOB, NS, OTHER_JOB, OTHER_NS
from fencepost.testing.conformance.harness import StoreHarness


class JobContract:
    """Specs by name; the last writer wins."""

    async def test_no_job_is_there_at_first(self, harness: StoreHarness) -> None:
        assert await harness.store.jobs.all(NS) == {}

    async def test_a_job_does_not_lose_anything_in_the_store(self, harness: StoreHarness) -> None:
        spec = JobSpec(
            JOB,
            queue=Queue("heavy"),
            priority=4,
            retry=Retry(3, "1.5s", "2m"),
            timeout=timedelta(minutes=10),
            at_most_once=True,
            parameters=(Parameter("image_id", True, "integer"), Parameter("width", False)),
            open_payload=True,
            secrets=("stripe",),
        )
        await harness.store.jobs.register(NS, [spec])
        assert await harness.store.jobs.all(NS) == {JOB: spec}

    async def test_registering_does_not_touch_jobs_of_other_names(self, harness: StoreHarness) -> None:
        await harness.store.jobs.register(NS, [JobSpec(JOB), JobSpec(OTHER_JOB)])
        await harness.store.jobs.register(NS, [JobSpec(JOB, priority=1)])
        assert await harness.store.jobs.all(NS) == {
            JOB: JobSpec(JOB, priority=1),
            OTHER_JOB: JobSpec(OTHER_JOB),
        }

    async def test_namespaces_do_not_share_jobs(self, harness: StoreHarness) -> None:
        await harness.store.jobs.register(NS, [JobSpec(JOB)])
        await harness.store.jobs.register(OTHER_NS, [JobSpec(JOB, priority=1)])
        assert await harness.store.jobs.all(NS) == {JOB: JobSpec(JOB)}

    async def test_registering_nothing_is_no_fault(self, harness: StoreHarness) -> None:
        await harness.store.jobs.register(NS, [])
        assert await harness.store.jobs.all(NS) == {}
