"""`app.runs`: the verbs on runs, for programs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from fencepost.model.identifiers import RunKey
from fencepost.model.run import RunRecord
from fencepost.operations import runs as run_operations
from fencepost.operations.control import Control


class Runs:
    """The runs of one namespace, by their keys."""

    def __init__(self, control: Callable[[], Awaitable[Control]]) -> None:
        self._control = control

    async def get(self, run_key: str) -> RunRecord:
        """One run."""
        run, _ = await run_operations.run_with_attempts(await self._control(), run_key)
        return run

    async def cancel(self, run_key: str) -> RunRecord:
        """End a waiting run, or ask a running one to stop."""
        return await run_operations.cancel(await self._control(), run_key)

    async def skip(self, run_key: str) -> RunRecord:
        """Call off a run that has not begun; any other stays as it is."""
        return await run_operations.skip(await self._control(), run_key)

    async def hold(self, run_key: str) -> RunRecord:
        """Let no worker start a waiting run until it is released."""
        return await run_operations.hold(await self._control(), run_key)

    async def release(self, run_key: str) -> RunRecord:
        """Take the hold away again."""
        return await run_operations.release(await self._control(), run_key)

    async def replay(self, run_keys: Sequence[str], every_s: float = 0.0) -> Sequence[RunKey]:
        """Send ended runs on their way again, one every so often; the keys of those that were."""
        return await run_operations.replay(await self._control(), run_keys, every_s)
