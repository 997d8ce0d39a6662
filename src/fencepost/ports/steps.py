"""The steps that a run has recorded: what later attempts need not do again.

A record belongs to the run, not to the attempt: the next attempt, after a failure, a rescue or a replay by an
operator, finds what was recorded before. Retention removes the records with the run's attempts.

*Who may record.* Only the attempt that owns the run: its row is locked and the ticket compared in the
transaction that writes the record. So a record is either there before the run can be taken from the attempt,
and its successor reads it, or it is refused. An attempt that has ended records nothing more.

*The first record of a name stands*, and every later one is answered with it. So a record whose answer was
lost is simply made again.

Fingerprints (`core.fingerprints`) are kept here too, under names that no step has.

Results are JSON as text: what was written is what is read. The caller bounds their number and length.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from fencepost.model.identifiers import Namespace, RunKey
from fencepost.model.run import Ticket


class RecordedSteps(Protocol):
    """The recorded steps of all runs."""

    async def recorded(self, namespace: Namespace, run_key: RunKey) -> Mapping[str, str]:
        """The results of a run's steps by their names, in the order in which they were recorded."""
        ...

    async def record(self, ticket: Ticket, name: str, result: str) -> str | None:
        """Record a step and return the result that stands; None where the run is not owned any more."""
        ...
