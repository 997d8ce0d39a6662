"""A span that cannot be made is lost, and nothing else is."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import Sampler

from fencepost.errors import StoreUnavailable
from fencepost.model.audit import Author
from fencepost.model.identifiers import JobName, job_key, outside_worker
from fencepost.model.job import JobSpec
from fencepost.model.run import NewRun, Receipt, RunState
from fencepost.operations import runs as run_operations
from fencepost.operations.control import Control
from fencepost.services.enqueueing import enqueue
from fencepost.services.external_runs import ExternalRuns, Order
from fencepost.telemetry import traces
from tests.services.house import NS, Bench, House, PlanningNode, WorkingNode, make_job, until
from tests.traces.kept import KeptSpans

LOST = "a span could not be made and is lost; the runs go on"

WORKER = Author("w", "api", credential="t0")


class RaisesAtStart(SpanProcessor):
    def on_start(self, span: Any, parent_context: Any = None) -> None:
        raise RuntimeError("the processor of the program")


class RaisesAtEnd(SpanProcessor):
    def on_end(self, span: Any) -> None:
        raise RuntimeError("the processor of the program")


class Raises(Sampler):
    def should_sample(self, *given: Any, **named: Any) -> Any:
        raise RuntimeError("the sampler of the program")

    def get_description(self) -> str:
        return "raises"


def sampled_by(sampler: Sampler) -> TracerProvider:
    return TracerProvider(sampler=sampler, shutdown_on_exit=False)


def with_processor(processor: SpanProcessor) -> TracerProvider:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(processor)
    return provider


PROVIDERS = {
    "at start": lambda: with_processor(RaisesAtStart()),
    "at end": lambda: with_processor(RaisesAtEnd()),
    "sampler": lambda: sampled_by(Raises()),
}


@pytest.fixture(params=PROVIDERS)
def broken(request: pytest.FixtureRequest) -> TracerProvider:
    provider = PROVIDERS[request.param]()
    traces.switch_on(provider)
    return provider


async def test_ticks_are_planned_and_run_all_the_same_and_one_line_says_so(
    broken: TracerProvider, caplog: pytest.LogCaptureFixture
) -> None:
    house = House()
    await house.put("bill", every_s=30)
    planning, working = PlanningNode(house, "planner"), WorkingNode(house, make_job(lambda: None))
    await planning.elector.run_once()
    await planning.planner.run_once()
    house.clock.advance(61)
    await working.work()
    await working.work()
    states = await house.states()
    assert RunState.SUCCEEDED in states
    assert not {RunState.READY, RunState.RUNNING} & set(states)
    assert [one.levelname for one in caplog.records if one.getMessage() == LOST] == ["ERROR"]


async def test_a_rescue_and_a_loss_go_on(broken: TracerProvider) -> None:
    house, bench = House(), Bench()
    node = WorkingNode(house, make_job(bench, at_most_once=True))
    await node.register()
    await house.enqueue("1")
    await node.worker.run_once()
    await until(lambda: bench.now == 1)
    house.clock.advance(house.settings.heartbeat_timeout_s + 1)
    await node.reaper.run_once()
    bench.finish.set()
    await node.reported(0)
    assert await house.states() == [RunState.DEAD]


async def test_workers_outside_and_people_notice_nothing(broken: TracerProvider) -> None:
    house = House()
    spec = JobSpec(JobName("resize"), external=True, open_payload=True)
    await house.memory.jobs.register(NS, [spec])
    run = NewRun(job_key(spec.name, "7"), spec.name, {}, house.settings.queues[0], 2)
    key = run.run_key
    assert await enqueue(house.store.ledger, NS, [run]) == [(key, True)]
    verbs = ExternalRuns(house.store, house.settings, lambda: 0.5)
    order = Order(outside_worker("w1", "t0"), ("resize",))
    ((loan,), _) = await verbs.take(order, await verbs.claim_request(order))
    assert traces.carried_for(loan.claim) is not None
    assert await verbs.complete(WORKER, key, loan.claim.attempt, loan.claim.fence, None) is Receipt.ACCEPTED


async def test_a_run_that_waits_for_its_retry_can_be_called_off(broken: TracerProvider) -> None:
    def fail() -> None:
        raise ValueError("no such month")

    house = House()
    node = WorkingNode(house, make_job(fail))
    await node.register()
    key = await house.enqueue("1")
    await node.work()
    await run_operations.cancel(Control(house.store, NS), key)
    assert (await house.run(key)).state is RunState.CANCELLED


async def test_tracing_a_rescue_keeps_no_late_tick_open(spans: KeptSpans) -> None:
    """What only a trace needs is asked for when all else is done, and may go without an answer."""
    house, bench = House(), Bench()
    node = WorkingNode(house, make_job(bench))
    await node.register()
    await house.enqueue("1")
    await node.worker.run_once()
    await until(lambda: bench.now == 1)
    house.clock.advance(house.settings.heartbeat_timeout_s + 1)
    house.store.fail_before("ledger.get")
    await node.reaper.run_once()
    names = [name for name, _ in house.store.calls]
    assert names.index("ledger.sweep_late") < names.index("ledger.get")
    assert "rescue" not in spans.verbs
    await node.worker.run_once()
    house.store.fail_before("ledger.sweep_late")
    with pytest.raises(StoreUnavailable):
        await node.reaper.run_once()
    bench.finish.set()
    await node.reported(0)
