"""The fences that this process knows of."""

from __future__ import annotations


class GivenFences:
    """The last fence that this process knows of. Where it is given one that is not later, the ledger is an
    older copy: seen here, because a rule that runs again is given later ones at once."""

    def __init__(self) -> None:
        self.last = 0
        self.fallen: str | None = None

    def note(self, last: int, *, first: int | None = None, before: int = 0) -> None:
        """Fences up to the last were given out; those from the first on after it was known `before`."""
        if first is not None and first <= before and self.fallen is None:
            self.fallen = f"it gave out fence {first}, after fence {before}"
        self.last = max(self.last, last)
