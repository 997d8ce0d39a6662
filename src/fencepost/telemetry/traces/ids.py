"""The names of a run's trace and of its spans, each a digest of what every process knows of the run.

A trace is one run key of one namespace. Its spans hang together like this:

    plan                     the tick is written ahead of time; `enqueue` for a run by hand
    └─ dispatch 1            from when it was due until it was claimed
       └─ run                from its first attempt until its end
          ├─ attempt 1
          ├─ dispatch 2      from when the retry was due
          └─ attempt 2

A replay is the same run again: a new `dispatch` and a new `run` under the same `plan`, which are told from
the earlier ones by how many attempts came before (`attempts_before_replay`). Digests never change from
release to release: old and new processes write the same trace in a deploy.
"""

from __future__ import annotations

import hashlib
from typing import Protocol

from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Namespace, RunKey

TRACE_BYTES = 16
SPAN_BYTES = 8


class Keyed(Protocol):
    """What belongs to one run: a claim, a ticket, a row of the ledger."""

    @property
    def namespace(self) -> Namespace: ...

    @property
    def run_key(self) -> RunKey: ...


@dataclass(frozen=True, slots=True)
class SpanName:
    """Where a span stands in its trace; `parent` is 0 for the first."""

    trace: int
    span: int
    parent: int = 0


def trace_id(run: Keyed) -> int:
    """The trace of a run."""
    return _digest(TRACE_BYTES, run, "trace")


def trace_text(run: Keyed) -> str:
    """The same as people and headers write it."""
    return f"{trace_id(run):032x}"


def root_name(run: Keyed) -> SpanName:
    """The span of the process that wrote the run into the ledger."""
    return SpanName(trace_id(run), _root(run))


def dispatch_name(run: Keyed, attempt: int, attempts_before_replay: int) -> SpanName:
    """The span of an attempt's way to its worker; only the first of a round comes from outside of the run."""
    parent = _root(run) if attempt == attempts_before_replay + 1 else _run(run, attempts_before_replay)
    return SpanName(trace_id(run), _dispatch(run, attempt), parent)


def run_name(run: Keyed, attempts_before_replay: int) -> SpanName:
    """The span over all attempts of a round."""
    return SpanName(
        trace_id(run), _run(run, attempts_before_replay), _dispatch(run, attempts_before_replay + 1)
    )


def attempt_name(run: Keyed, attempt: int, attempts_before_replay: int) -> SpanName:
    """The span of one try."""
    return SpanName(
        trace_id(run), _digest(SPAN_BYTES, run, "attempt", attempt), _run(run, attempts_before_replay)
    )


def rescue_name(run: Keyed, attempt: int, attempts_before_replay: int) -> SpanName:
    """The span of an attempt that was taken away from its worker; the process that took it writes it."""
    return SpanName(
        trace_id(run), _digest(SPAN_BYTES, run, "rescue", attempt), _run(run, attempts_before_replay)
    )


def _root(run: Keyed) -> int:
    return _digest(SPAN_BYTES, run, "plan")


def _dispatch(run: Keyed, attempt: int) -> int:
    return _digest(SPAN_BYTES, run, "dispatch", attempt)


def _run(run: Keyed, attempts_before_replay: int) -> int:
    return _digest(SPAN_BYTES, run, "run", attempts_before_replay)


def _digest(size: int, run: Keyed, kind: str, number: int = 0) -> int:
    """Never 0, which stands for no name. Neither part of the text can hold the sign that parts them."""
    text = f"{run.namespace}\0{run.run_key}\0{kind}\0{number}"
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).digest()
    return int.from_bytes(digest, "big") or 1
