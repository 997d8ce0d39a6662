"""Which programs may be started at all.

A program is judged by its real path, behind every symbolic link, when the job is defined and again right
before each start. The real path is then the one that is started, so that a link that is changed in between
changes nothing. One gap stays open: a user with write access to an allowed folder can replace a file in it.
List only folders that are writable only to users who may decide what runs. The list says which program
starts, not what it is told: a shell or an interpreter in it starts anything.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable


class AllowList:
    """Absolute paths, and folders ending in a slash; an empty list allows everything.

    The entries are asked for at each look: an application's settings can change until it is started.
    """

    def __init__(self, entries: Callable[[], Iterable[str]] = tuple) -> None:
        self._entries = entries

    def real_path(self, program: str) -> str | None:
        """Where an allowed program really is, or None. Without a list, the path as it stands."""
        entries = tuple(self._entries())
        if not entries:
            return program
        real = os.path.realpath(program)
        return real if any(_covers(entry, real) for entry in entries) else None

    def __str__(self) -> str:
        return ", ".join(self._entries())


def _covers(entry: str, real: str) -> bool:
    home = os.path.realpath(entry)
    return real.startswith(home.rstrip("/") + "/") if entry.endswith("/") else real == home
