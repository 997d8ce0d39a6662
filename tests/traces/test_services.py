"""What each service adds to a run's trace, on a store in memory."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.trace.status import StatusCode

from fencepost.model.audit import Author
from fencepost.model.identifiers import JobName, outside_worker
from fencepost.model.job import JobSpec
from fencepost.model.run import Receipt, RunState
from fencepost.operations import jobs as job_operations
from fencepost.operations import runs as run_operations
from fencepost.operations.control import Control
from fencepost.ports.run import Run
from fencepost.services.external_runs import ExternalRuns, Order
from fencepost.telemetry.logs import FIELDS
from fencepost.telemetry.run_lines import keep_run_lines
from tests.services.house import NS, START, Bench, House, PlanningNode, WorkingNode, make_job, until
from tests.traces.kept import KeptSpans, above, place, said
from tests.web.house import Web

WORKER = Author("w", "api", credential="t0")


async def open_node(house: House, work: Any, **options: Any) -> WorkingNode:
    node = WorkingNode(house, make_job(work, **options))
    await node.register()
    return node


async def succeed() -> None: ...


async def fail() -> None:
    raise ValueError("no such month")


async def test_a_planned_tick_has_a_first_span_and_its_lag_is_to_be_seen(spans: KeptSpans) -> None:
    house = House()
    planning, working = PlanningNode(house, "planner"), await open_node(house, succeed)
    await house.put("bill", every_s=30)
    await planning.elector.run_once()
    await planning.planner.run_once()
    assert set(spans.verbs) == {"plan"}
    house.clock.advance(33)
    await working.work()
    dispatch, plan = spans.only("dispatch"), spans.only("plan", run_key="bill#2026-03-01T12:00:30Z#1")
    assert plan.parent is None
    assert above(dispatch) == place(plan)
    assert (dispatch.end_time or 0) - (dispatch.start_time or 0) == 3_000_000_000
    assert above(spans.only("run")) == place(dispatch)
    assert above(spans.only("attempt")) == place(spans.only("run"))


async def test_a_failed_attempt_says_what_it_died_of_and_a_dead_run_too(spans: KeptSpans) -> None:
    house = House()
    node = await open_node(house, fail, attempts=2)
    await house.enqueue("1")
    await node.work()
    assert "run" not in spans.verbs
    house.clock.advance(600)
    await node.work()
    first, run = spans.only("attempt", attempt=1), spans.only("run")
    (event,) = first.events
    assert event.attributes is not None
    assert (event.name, event.attributes["exception.type"]) == ("exception", "ValueError")
    assert "no such month" in str(event.attributes["exception.stacktrace"])
    assert (said(first, "outcome"), first.status.status_code) == ("retry", StatusCode.ERROR)
    assert (said(run, "state"), said(run, "attempts"), run.status.status_code) == (
        "dead",
        2,
        StatusCode.ERROR,
    )
    assert above(spans.only("dispatch", attempt=2)) == place(run)


async def test_a_replay_is_another_run_in_the_same_trace(spans: KeptSpans) -> None:
    house = House()
    node = await open_node(house, fail, attempts=1)
    key = await house.enqueue("1")
    await node.work()
    await run_operations.replay(Control(house.store, NS), [key])
    await node.work()
    first, second = (one for one in spans.all if one.name == "run report")
    assert place(first)[0] == place(second)[0]
    assert place(first)[1] != place(second)[1]
    assert above(spans.only("dispatch", attempt=2)) == above(spans.only("dispatch", attempt=1))
    assert above(spans.only("attempt", attempt=2)) == place(second)


async def test_a_run_by_hand_points_to_its_caller(spans: KeptSpans) -> None:
    house = House()
    await open_node(house, succeed)
    control = Control(house.store, NS)
    with spans.provider.get_tracer("shop").start_as_current_span("checkout") as asking:
        await job_operations.enqueue_run(control, "report", {}, key="7")
        await job_operations.enqueue_run(control, "report", {}, key="7")
    enqueue = spans.only("enqueue")
    (link,) = enqueue.links
    assert link.context == asking.get_span_context()
    assert enqueue.parent is None
    assert place(enqueue)[0] != asking.get_span_context().trace_id


async def test_the_attempt_is_current_while_the_function_runs(spans: KeptSpans) -> None:
    house, seen = House(), []

    def work(run: Run) -> None:
        found = trace.get_current_span().get_span_context()
        seen.append(f"00-{found.trace_id:032x}-{found.span_id:016x}-01")
        seen.append(str(run.traceparent))

    node = await open_node(house, work)
    await house.enqueue("1")
    await node.work()
    found = "00-{:032x}-{:016x}-01".format(*place(spans.only("attempt")))
    assert seen == [found, found]
    assert not trace.get_current_span().get_span_context().is_valid


async def test_a_rescued_run_tells_of_its_lost_attempt(spans: KeptSpans) -> None:
    house, bench = House(), Bench()
    node = await open_node(house, bench, at_most_once=True)
    await house.enqueue("1")
    await node.worker.run_once()
    await until(lambda: bench.now == 1)
    house.clock.advance(house.settings.heartbeat_timeout_s + 1)
    await node.reaper.run_once()
    rescue, run = spans.only("rescue", attempt=1), spans.only("run")
    assert above(rescue) == place(run)
    assert said(run, "state") == "dead"
    assert said(rescue, "worker") == "worker-1"
    # The worker comes back too late: its attempt is told as lost, and its run not once more.
    bench.finish.set()
    await node.reported(0)
    assert said(spans.only("attempt"), "outcome") == "lost"
    assert spans.verbs.count("run") == 1


async def test_a_run_that_is_called_off_between_two_attempts_has_its_span(spans: KeptSpans) -> None:
    house = House()
    node = await open_node(house, fail)
    key = await house.enqueue("1")
    await node.work()
    await run_operations.cancel(Control(house.store, NS), key)
    assert said(spans.only("run"), "state") == "cancelled"


async def test_a_worker_outside_gets_the_name_of_its_attempt(web: Web, spans: KeptSpans) -> None:
    key = await web.house.enqueue("7", "resize")
    (run,) = await web.claim("w1")
    await web.report(run, "complete")
    attempt = spans.only("attempt")
    assert run["traceparent"] == "00-{:032x}-{:016x}-01".format(*place(attempt))
    assert above(attempt) == place(spans.only("run"))
    assert above(spans.only("run")) == place(spans.only("dispatch"))
    assert said(attempt, "worker") == "http/w1@FENCEPOST_TOKEN"
    assert said(attempt, "run_key") == key


async def test_a_worker_outside_that_repeats_its_report_is_told_of_once(spans: KeptSpans) -> None:
    house = House()
    await house.memory.jobs.register(NS, [JobSpec(JobName("resize"), external=True, open_payload=True)])
    key = await house.enqueue("7", "resize")
    verbs = ExternalRuns(house.store, house.settings, lambda: 0.5)
    order = Order(outside_worker("w1", "t0"), ("resize",))
    ((loan,), _) = await verbs.take(order, await verbs.claim_request(order))
    for receipt in (Receipt.ACCEPTED, Receipt.REPEATED):
        assert await verbs.complete(WORKER, key, loan.claim.attempt, loan.claim.fence, None) is receipt
    assert sorted(spans.verbs) == ["attempt", "dispatch", "run"]


async def test_lines_about_a_run_name_its_trace(spans: KeptSpans, caplog: pytest.LogCaptureFixture) -> None:
    house = House()
    node = await open_node(house, succeed)
    await house.enqueue("1")
    monitored = logging.getLogger("fencepost.run")
    with caplog.at_level(logging.INFO, "fencepost.run"):
        monitored.addHandler(caplog.handler)
        await node.work()
        monitored.removeHandler(caplog.handler)
    lines = [getattr(one, FIELDS) for one in caplog.records if one.message == "succeeded"]
    assert lines
    assert all(line["trace_id"] == f"{place(spans.only('run'))[0]:032x}" for line in lines)


async def test_what_a_job_logs_names_the_trace_in_the_runs_log(spans: KeptSpans) -> None:
    house, log = House(), logging.getLogger("shop")

    async def work() -> None:
        log.warning("half way")

    node = await open_node(house, work)
    key = await house.enqueue("1")
    handler = keep_run_lines()
    await node.work()
    logging.getLogger().removeHandler(handler)
    chunks = await run_operations.log_tail(Control(house.store, NS), key)
    assert f"half way trace_id={place(spans.only('run'))[0]:032x}" in "".join(
        one.chunk.text for one in chunks
    )


async def test_off_nothing_is_carried_and_no_line_names_a_trace(caplog: pytest.LogCaptureFixture) -> None:
    house, seen = House(), []

    def work(run: Run) -> None:
        seen.append(run.traceparent)

    node = await open_node(house, work)
    key = await house.enqueue("1")
    with caplog.at_level(logging.INFO, "fencepost.run"):
        await node.work()
    assert seen == [None]
    assert (await house.run(key)).state is RunState.SUCCEEDED
    assert not any("trace_id" in getattr(one, FIELDS, {}) for one in caplog.records)


async def test_times_are_the_stores(spans: KeptSpans) -> None:
    house = House()
    node = await open_node(house, succeed)
    await house.enqueue("1")
    await node.work()
    begun = int(START.timestamp()) * 10**9
    assert spans.only("attempt").start_time == spans.only("run").start_time == begun
