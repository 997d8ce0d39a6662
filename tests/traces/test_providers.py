"""Whose provider it is, what it samples, and what becomes of names that it does not take."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import (
    ALWAYS_OFF,
    ParentBasedTraceIdRatio,
    Sampler,
    StaticSampler,
    TraceIdRatioBased,
)

from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import (
    DEFAULT_NAMESPACE,
    Epoch,
    Fence,
    JobName,
    ScheduleId,
    Shard,
    job_key,
)
from fencepost.model.plan import Cursor, Plan, PlanReceipt, Tick
from fencepost.model.run import Claim, Outcome, RunState
from fencepost.model.schedule import ScheduleSpec
from fencepost.telemetry import traces
from fencepost.telemetry.traces.ids import attempt_name, root_name, run_name, trace_id
from fencepost.telemetry.traces.tracing import NamedIds
from fencepost.telemetry.traces.writing import AT_ONCE_MAX
from fencepost.triggers import Every
from tests.services.house import START
from tests.traces.kept import KeptSpans, above, place

JOB = JobName("report")
RUNS = 200


def claim(key: str, attempt: int = 1) -> Claim:
    now = StoreTime(START)
    run_key = job_key(JOB, key)
    return Claim(DEFAULT_NAMESPACE, run_key, None, JOB, START, 0, attempt, Fence(7), Epoch(0), {}, START, now)


def kept_by(provider: TracerProvider) -> KeptSpans:
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return KeptSpans(exporter, provider)


def do(one: Claim, work: Callable[[], None] = lambda: None) -> traces.AttemptTrace:
    """An attempt in a context of its own, as a task has one."""

    def attempt() -> traces.AttemptTrace:
        begun = traces.begin(one, "worker-1")
        work()
        begun.settled(Outcome(one.ticket, RunState.SUCCEEDED), 1.0)
        return begun

    return copy_context().run(attempt)


def enqueue(one: Claim) -> None:
    traces.enqueued([traces.Written(one.namespace, one.run_key, one.job)], [True])


@pytest.mark.parametrize(
    "sampler", [TraceIdRatioBased(0.5), ParentBasedTraceIdRatio(0.5)], ids=lambda one: type(one).__name__
)
def test_processes_agree_on_which_traces_are_sampled_and_each_is_whole(sampler: Sampler) -> None:
    writer = kept_by(TracerProvider(sampler, shutdown_on_exit=False))
    traces.switch_on(writer.provider)
    for number in range(RUNS):
        enqueue(claim(str(number)))
    doer = kept_by(TracerProvider(sampler, shutdown_on_exit=False))
    traces.switch_on(doer.provider)
    flags = {trace_id(claim(str(number))): do(claim(str(number))).carried for number in range(RUNS)}
    asked, done = {place(one)[0] for one in writer.all}, [place(one)[0] for one in doer.all]
    assert RUNS * 0.3 < len(asked) < RUNS * 0.7
    assert set(done) == asked
    assert len(done) == 3 * len(asked)
    assert all(carried["traceparent"].endswith("-01") == (one in asked) for one, carried in flags.items())


@pytest.mark.parametrize("sampler", [ALWAYS_OFF, TraceIdRatioBased(0.0)], ids=lambda one: type(one).__name__)
def test_what_is_not_sampled_is_not_written_and_its_context_says_so(sampler: StaticSampler) -> None:
    spans = kept_by(TracerProvider(sampler, shutdown_on_exit=False))
    traces.switch_on(spans.provider)
    assert do(claim("1")).carried["traceparent"].endswith("-00")
    assert spans.all == []


def test_the_programs_own_spans_keep_their_chance_names(spans: KeptSpans) -> None:
    """A generator that gave the wanted name to everybody would give it twice."""

    def work() -> None:
        for _ in range(2):
            spans.provider.get_tracer("shop").start_span("inside").end()

    do(claim("1"), work)
    inside = [place(one)[1] for one in spans.all if one.name == "inside"]
    ours = [place(one)[1] for one in spans.all if one.name != "inside"]
    assert len({*inside, *ours}) == len(inside) + len(ours) == 5


def test_switching_on_again_does_not_wrap_the_generator_again(spans: KeptSpans) -> None:
    traces.switch_off()
    traces.switch_on(spans.provider)
    tracer: Any = spans.provider.get_tracer("fencepost", traces_version())
    assert isinstance(tracer.id_generator, NamedIds)
    assert not isinstance(tracer.id_generator._others, NamedIds)


def test_a_provider_that_names_its_spans_itself_has_them_under_the_computed_ones(spans: KeptSpans) -> None:
    traces.switch_off()
    traces.switch_on(Stubborn(spans.provider))
    one = claim("1")
    enqueue(one)
    begun = do(one)
    attempt = spans.only("attempt")
    assert above(attempt) == (trace_id(one), run_name(one, 0).span)
    assert place(attempt)[1] != attempt_name(one, 1, 0).span
    assert begun.carried["traceparent"] == "00-{:032x}-{:016x}-01".format(*place(attempt))
    assert above(spans.only("enqueue")) == (trace_id(one), root_name(one).span)


def test_one_write_makes_no_more_spans_than_the_bound(spans: KeptSpans) -> None:
    traces.planned([plan_of(AT_ONCE_MAX + 1)], PlanReceipt(AT_ONCE_MAX + 1), START, START)
    assert len(spans.all) == AT_ONCE_MAX


@pytest.mark.parametrize(
    ("receipt", "written"),
    [
        (PlanReceipt(2), 2),
        (PlanReceipt(0), 0),
        (PlanReceipt(1, stale=(Shard(1),)), 1),
        (PlanReceipt(1, dropped=((DEFAULT_NAMESPACE, ScheduleId("bill-1"), 1),)), 1),
    ],
)
def test_a_plan_that_was_not_written_has_no_span(
    receipt: PlanReceipt, written: int, spans: KeptSpans
) -> None:
    traces.planned([plan_of(1, shard=0), plan_of(1, shard=1)], receipt, START, START)
    assert len(spans.all) == written


def plan_of(ticks: int, shard: int = 0) -> Plan:
    spec = ScheduleSpec(JOB, trigger=Every(1).to_json())
    of = ScheduleId(f"bill-{shard}")
    cursor = Cursor(DEFAULT_NAMESPACE, of, Shard(shard), 1, START, spec, claim("1").queue, 2)
    fires = tuple(Tick(START.replace(microsecond=one), START) for one in range(ticks))
    return Plan(cursor, Epoch(3), fires, START, None, "")


def traces_version() -> str:
    from importlib.metadata import version

    return version("fencepost")


class Stubborn(trace.TracerProvider):
    """A provider of another make: its tracers have no generator that could be replaced."""

    def __init__(self, inner: TracerProvider) -> None:
        self._inner = inner

    def get_tracer(self, *args: Any, **words: Any) -> trace.Tracer:
        tracer = self._inner.get_tracer("another", "1")

        class Other(trace.Tracer):
            def start_span(self, *args: Any, **words: Any) -> trace.Span:
                return tracer.start_span(*args, **words)

            def start_as_current_span(self, *args: Any, **words: Any) -> Any:
                return tracer.start_as_current_span(*args, **words)

        return Other()
