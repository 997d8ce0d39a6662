"""Names of traces and spans: the same in every process and every release."""

from __future__ import annotations

from itertools import combinations

from fencepost.model.identifiers import Fence, Namespace, RunKey
from fencepost.model.run import Ticket
from fencepost.telemetry.traces.ids import (
    SpanName,
    attempt_name,
    dispatch_name,
    rescue_name,
    root_name,
    run_name,
    trace_text,
)

TRACE = "9223175af1284ea23fefd043c58b9c93"
PLAN = 0x184D607D6DFB0401
DISPATCH = 0xAA5AF87B60F58899
RUN = 0x9C53DC861FFD8F80
ATTEMPT = 0x460EAB125458AACF


def ticket(run_key: str = "invoices#2026-03-01T00:00:00Z#3", namespace: str = "default") -> Ticket:
    return Ticket(Namespace(namespace), RunKey(run_key), 1, Fence(1))


def test_names_do_not_change_from_release_to_release() -> None:
    one = ticket()
    assert trace_text(one) == TRACE
    assert root_name(one) == SpanName(int(TRACE, 16), PLAN)
    assert dispatch_name(one, 1, 0) == SpanName(int(TRACE, 16), DISPATCH, PLAN)
    assert run_name(one, 0) == SpanName(int(TRACE, 16), RUN, DISPATCH)
    assert attempt_name(one, 1, 0) == SpanName(int(TRACE, 16), ATTEMPT, RUN)


def test_a_retry_is_dispatched_from_within_its_run() -> None:
    assert dispatch_name(ticket(), 2, 0).parent == run_name(ticket(), 0).span


def test_a_replay_is_another_run_under_the_same_beginning() -> None:
    first, again = run_name(ticket(), 0), run_name(ticket(), 2)
    assert first.span != again.span
    assert again.parent == dispatch_name(ticket(), 3, 2).span
    assert dispatch_name(ticket(), 3, 2).parent == root_name(ticket()).span
    assert attempt_name(ticket(), 3, 2).parent == again.span


def test_no_two_spans_share_a_name() -> None:
    runs = [ticket(), ticket("invoices#2026-03-01T00:00:00Z#4"), ticket(namespace="other")]
    names = [root_name(run) for run in runs]
    for number in range(3):
        names += [run_name(run, number) for run in runs]
        names += [of(run, number, 0) for run in runs for of in (dispatch_name, attempt_name, rescue_name)]
    assert all(one.span != other.span for one, other in combinations(names, 2))


def test_tenants_with_the_same_key_have_different_traces() -> None:
    assert trace_text(ticket()) != trace_text(ticket(namespace="other"))
