"""An attempt in this process: its span is there while it works, and is sent when the ledger has answered.

A transaction of the job's own may decide whether it succeeded, so this is not known before the ledger's
answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from fencepost.model.run import Claim, Outcome, RunState
from fencepost.telemetry.traces.drawing import attempt_drawing, dispatch_drawing, fault_of, run_drawing
from fencepost.telemetry.traces.guard import otherwise
from fencepost.telemetry.traces.ids import attempt_name
from fencepost.telemetry.traces.spans import Fault
from fencepost.telemetry.traces.switch import tracing

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from fencepost.telemetry.traces.tracing import Tracing

LOST = Fault("lost: the run is another attempt's by now", raised=False)


class AttemptTrace:
    """The spans of one attempt. This class is for an attempt whose spans are not written."""

    def __init__(self, carried: Mapping[str, str] | None = None) -> None:
        self.carried = carried or {}
        """What makes others children of the attempt: `traceparent`, and `tracestate` where there is one."""

    def settled(self, outcome: Outcome, took_s: float | None) -> None:
        """The ledger has this outcome; where it ends the run, that has its span as well."""

    def lost(self, took_s: float | None) -> None:
        """The run was taken away, and the attempt's work does not count."""


class _Traced(AttemptTrace):
    def __init__(self, tracing: Tracing, claim: Claim, span: Span) -> None:
        from fencepost.telemetry.traces.tracing import headers_of

        super().__init__(headers_of(span.get_span_context()))
        self._tracing = tracing
        self._claim = claim
        self._span = span

    @otherwise(None)
    def settled(self, outcome: Outcome, took_s: float | None) -> None:
        self._end(outcome_word(outcome), fault_of(outcome), took_s)
        if outcome.state is not RunState.READY:
            end = self._claim.started_at + timedelta(seconds=took_s or 0.0)
            self._tracing.write(run_drawing(self._claim, outcome.state, outcome.reason, outcome.error, end))

    @otherwise(None)
    def lost(self, took_s: float | None) -> None:
        self._end("lost", LOST, took_s)

    def _end(self, word: str, fault: Fault | None, took_s: float | None) -> None:
        from fencepost.telemetry.traces.tracing import finish

        self._span.set_attribute("fencepost.outcome", word)
        finish(self._span, self._claim.started_at + timedelta(seconds=took_s or 0.0), fault)


UNTRACED = AttemptTrace()


@otherwise(UNTRACED)
def begin(claim: Claim, worker: str) -> AttemptTrace:
    """An attempt has been claimed for the task that calls this, which becomes part of its span."""
    made = tracing()
    if made is None:
        return UNTRACED
    from fencepost.telemetry.traces.tracing import make_current

    name = attempt_name(claim, claim.attempt, claim.attempts_before_replay)
    if not made.samples(name.trace):
        return AttemptTrace(made.follow(name))
    made.write(dispatch_drawing(claim, worker))
    span = made.start(attempt_drawing(claim, worker))
    make_current(span)
    return _Traced(made, claim, span)


def outcome_word(outcome: Outcome) -> str:
    """What became of an attempt; `ready` is what becomes of its run."""
    return "retry" if outcome.state is RunState.READY else str(outcome.state)
