"""A server that has little time for searches for fire times."""

from __future__ import annotations

from fencepost.errors import TurnedAway
from fencepost.services.offload import OffloadThreads

FULL = "too many searches for fire times wait"


class Few(OffloadThreads):
    """A thinker for so many thoughts, and then none."""

    def __init__(self, thoughts: int) -> None:
        super().__init__(threads=1)
        self.left = thoughts

    def _admit(self, who: str = "") -> None:
        if not self.left:
            raise TurnedAway(FULL)
        self.left -= 1
