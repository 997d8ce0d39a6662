"""External jobs: done by workers outside of this program, which claim their runs over HTTP."""

from __future__ import annotations

from fencepost.model.json import JsonObject
from fencepost.ports.run import Run


class ExternalExecutor:
    """The place of an executor where there is none: no worker of this program claims such a run."""

    stoppable = False

    def check(self, payload: JsonObject) -> None:
        """What the job takes is in its spec; more is known only outside."""

    async def execute(self, run: Run) -> str | None:
        raise AssertionError(f"run {run.key}: job {run.job} is external, and was claimed inside")
