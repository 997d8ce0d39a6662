"""How a trace reaches others: in headers, in an environment, over a line to a child process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from fencepost.model.run import Claim
from fencepost.telemetry.traces.guard import otherwise
from fencepost.telemetry.traces.ids import attempt_name
from fencepost.telemetry.traces.switch import tracing

NOTHING: Mapping[str, str] = {}


@otherwise(NOTHING)
def carried_for(claim: Claim) -> Mapping[str, str]:
    """What makes a worker outside a child of the attempt that it was lent: `traceparent`, or nothing."""
    made = tracing()
    return (
        NOTHING
        if made is None
        else made.carried(attempt_name(claim, claim.attempt, claim.attempts_before_replay))
    )


@contextmanager
def within(carried: Mapping[str, str]) -> Iterator[None]:
    """Within, spans are part of what is carried; without OpenTelemetry there are none."""
    if not carried:
        yield
        return
    try:
        from fencepost.telemetry.traces.tracing import under
    except ImportError:
        yield
        return
    with under(carried):
        yield
