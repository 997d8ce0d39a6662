"""Jobs that are done outside of this program: by workers that claim their runs over HTTP, or by processors
that get them as messages."""

from __future__ import annotations

from fencepost.model.json import JsonObject
from fencepost.ports.run import Run


class ExternalExecutor:
    """The place of an executor where there is none: no worker of this program claims such a run."""

    stoppable = False

    def check(self, payload: JsonObject) -> None:
        """What the job takes is in its spec; more is known only outside."""

    async def execute(self, run: Run) -> str | None:
        raise AssertionError(f"run {run.key}: job {run.job} is done elsewhere, and was claimed here")
