"""The logs of runs: what jobs wrote while they ran, bounded, each attempt's by itself.

The worker decides what is kept (see `services.run_logs`): it numbers chunks, and says with each page which
earlier chunks to remove. Nothing else is ever rewritten.

*Whose lines are taken.* A page is taken where the ticket's attempt and fence are still those of the run,
whether or not the run has ended since: the last lines may come after the end. From a rescue on, the lines of
the attempt that lost the run are refused.

A page is safe to repeat: a chunk whose number is there stays as it is. Retention removes the log with the
run's attempts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fencepost.model.identifiers import Namespace, RunKey
from fencepost.model.run_log import LOG_BEGIN, LoggedChunk, LogPage, LogPlace, LogSpot


class RunLogs(Protocol):
    """The logs of all runs."""

    async def append(self, pages: Sequence[LogPage]) -> Sequence[bool]:
        """Add to the logs of several attempts, one page each; for each page whether it was taken."""
        ...

    async def read(
        self,
        namespace: Namespace,
        run_key: RunKey,
        *,
        attempt: int | None = None,
        after: LogPlace = LOG_BEGIN,
        limit: int,
    ) -> Sequence[LoggedChunk]:
        """Chunks of a run, or of one attempt of it, that come after the place, first to last."""
        ...

    async def tail(
        self, namespace: Namespace, run_key: RunKey, *, attempt: int | None = None, limit: int
    ) -> Sequence[LoggedChunk]:
        """The last chunks of a run, or of one attempt of it, first to last."""
        ...

    async def read_on(self, spots: Sequence[LogSpot], limit: int) -> Sequence[Sequence[LoggedChunk]]:
        """What comes after each spot, first to last and at most `limit` chunks each, with one query for all
        of them."""
        ...
