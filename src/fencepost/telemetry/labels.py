"""Label values, up to a bound."""

from __future__ import annotations

from threading import Lock

OTHER = "_other"


class Bounded:
    """The first values, up to a bound, keep their names for the life of the process; all others are one."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: set[str] = set()
        self._learning = Lock()

    def of(self, value: str) -> str:
        """The value itself, or `_other`."""
        return value if value in self._known or self._learns(value) else OTHER

    def _learns(self, value: str) -> bool:
        with self._learning:
            if len(self._known) < self._most:
                self._known.add(value)
            return value in self._known
