"""Traces: one run is one trace, written by several processes, and nothing is stored for it.

The planner that writes a tick, the worker that claims it, another one that does the retry and a reaper that
takes it from a dead one all add spans to the same trace. None of them asks another how the trace is called:
its name and those of its spans are digests of what they all know, the run's key (`ids.py`). The same digest
decides whether a trace is sampled, so all processes agree on that too.

Who is authoritative: the ledger. A span says what a process saw, and is written after the ledger has accepted
what it tells. A span that is lost changes nothing; a process that dies takes the spans with it that it had
not sent.

Times are the store's: an attempt begins when the ledger says that it was claimed, and ends so long after
that as this process has measured. Only `plan` and `enqueue` have the time of the host that wrote them.

Off is the ordinary case: then every function here returns at once, and no line of OpenTelemetry is imported.
It is switched on where the process has a tracer provider when its store is opened: the program's own, or the
one that `set_up.py` makes of the standard `OTEL_*` variables.
"""

from __future__ import annotations

from fencepost.telemetry.traces.attempts import UNTRACED, AttemptTrace, begin
from fencepost.telemetry.traces.carrying import carried_for, within
from fencepost.telemetry.traces.ids import Keyed
from fencepost.telemetry.traces.rounds import cancelled, lent, reported, rescued
from fencepost.telemetry.traces.switch import is_on, switch_off, switch_on
from fencepost.telemetry.traces.writing import Written, enqueued, planned

__all__ = [
    "UNTRACED",
    "AttemptTrace",
    "Keyed",
    "Written",
    "begin",
    "cancelled",
    "carried_for",
    "enqueued",
    "is_on",
    "lent",
    "planned",
    "reported",
    "rescued",
    "switch_off",
    "switch_on",
    "within",
]
