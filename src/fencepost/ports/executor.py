"""How a job's work is done.

An executor may also have an attribute `queues`: where it is true, its runs may wait for their turn within
`execute`, and it sets `run.begun` when the work begins. Timeouts and progress deadlines count from then. An
attribute `takes_run` that is false says that the work never sees its run. The application calls a coroutine
function `close` when it is closed; that function releases what the executor holds open.
"""

from __future__ import annotations

from typing import Protocol

from fencepost.model.dataclasses import dataclass
from fencepost.model.job import JobSpec
from fencepost.model.json import JsonObject
from fencepost.ports.run import Run


class Executor(Protocol):
    """Carries out one kind of work. An executor knows nothing of retries, timeouts or the ledger."""

    @property
    def stoppable(self) -> bool:
        """Whether the work has really ended when a cancelled `execute` returns. A thread cannot be killed:
        a stopping worker leaves such a run to be rescued instead of handing it back while it goes on."""
        ...

    def check(self, payload: JsonObject) -> None:
        """Raise `InvalidPayload` where the work could not even begin with this payload."""
        ...

    async def execute(self, run: Run) -> str | None:
        """Do the work and return the output to keep.

        Raises `PermanentFailure` where no retry can help, anything else where a retry may help. When
        cancelled it stops the work as well as it can before it returns.
        """
        ...


@dataclass(frozen=True)
class Job:
    """A job as a worker has it: what the store knows of it, and its executor."""

    spec: JobSpec
    executor: Executor

    @property
    def takes_run(self) -> bool:
        """Whether its work gets the run, and so may write to the ledger."""
        return bool(getattr(self.executor, "takes_run", True))

    @property
    def queues(self) -> bool:
        """Whether its runs may wait for their turn before they begin."""
        return bool(getattr(self.executor, "queues", False))

    async def close(self) -> None:
        """Release what its executor holds open."""
        if (close := getattr(self.executor, "close", None)) is not None:
            await close()
