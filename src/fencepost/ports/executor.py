"""How a job's work is done.

An executor may have an attribute `queues` besides: where it is true, its runs may wait for their turn within
`execute`, and it sets `run.begun` when the work begins. Timeouts and progress deadlines count from then. An
attribute `takes_run` that is false says that the work never sees its run. A coroutine function `close` is
called when the application is closed, and lets go what the executor holds open.
"""

from __future__ import annotations

from typing import Protocol

from fencepost.model.dataclasses import dataclass
from fencepost.model.job import JobSpec
from fencepost.model.json import JsonObject
from fencepost.ports.run import Run


class Executor(Protocol):
    """The doing of one kind of work. An executor knows nothing of retries, timeouts or the ledger."""

    @property
    def stoppable(self) -> bool:
        """Whether the work has really ended when a cancelled `execute` returns. A thread cannot be killed:
        a stopping worker leaves such a run to be rescued instead of handing it back while it goes on."""
        ...

    def check(self, payload: JsonObject) -> None:
        """Raise `InvalidPayload` where the work could not even begin with it."""
        ...

    async def execute(self, run: Run) -> str | None:
        """Do the work and return what is worth keeping of its output.

        Raises `PermanentFailure` where no retry can help, anything else where one may. When cancelled it
        stops the work as well as it can before it returns.
        """
        ...


@dataclass(frozen=True)
class Job:
    """A job as a worker has it: what the store knows of it, and how to do it."""

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
        """Let go what its executor holds open."""
        if (close := getattr(self.executor, "close", None)) is not None:
            await close()
