"""A run as a child process has it: far from the ledger, with a line to the worker."""

from __future__ import annotations

from collections.abc import Callable

from fencepost.executors.process.wire import TEXT_LENGTH_MAX
from fencepost.model.run import Claim
from fencepost.model.text import storable
from fencepost.ports.run import Run
from fencepost.telemetry.secrets import mask

Say = Callable[..., None]


class FarRun(Run):
    """Progress and log go to the worker as they are said; what needs the ledger is out of reach."""

    __slots__ = ("_say",)

    def __init__(self, claim: Claim, say: Say) -> None:
        super().__init__(claim, keep=self._pass_on)
        self._say = say

    def heartbeat(self, progress: float | str | None = None, note: str | None = None) -> None:
        """Say that the work gets on; the ledger hears of it with the worker's next heartbeat."""
        super().heartbeat(progress, note)
        said = _text(progress) if isinstance(progress, str) else progress
        self._say(beat=said, note=None if note is None else _text(str(note)))

    def _pass_on(self, text: str) -> None:
        self._say(log=_text(text))


def _text(text: str) -> str:
    return storable(mask(text), TEXT_LENGTH_MAX)
