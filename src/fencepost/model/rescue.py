"""A run whose worker shows no life, and what is done about it."""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.model.identifiers import NodeId
from fencepost.model.job import JobSpec
from fencepost.model.run import RunState, Ticket


@dataclass(frozen=True, slots=True)
class Expired:
    """A running run past its `alive_until`; `job` is None where the store does not know the job."""

    ticket: Ticket
    worker: NodeId | None
    silent_for_s: float
    cancel_requested: bool
    job: JobSpec | None
    spent: int = 0
    """How many attempts it had had before it was last replayed."""


@dataclass(frozen=True, slots=True)
class Rescue:
    """`ready` to run again, or `dead`, or `cancelled` where that had been asked for."""

    ticket: Ticket
    state: RunState
    reason: str
    retry_in_s: float = 0.0
