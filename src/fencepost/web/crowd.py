"""The crowd: every connection of a server, and which of them goes where there are too many.

Anybody can open connections and say nothing; no credential is asked for that. Beyond the most, the one that
has said nothing for longest is closed in favour of the new one, then the one that has rested longest since
its last answer. What is being answered stays: where all are, the new one is closed. So whoever asks at once,
such as a probe of a load balancer, is answered however many are silent.

The most stays well below the number of files that the process may open, since the store, the leases and the
jobs need some too.
"""

from __future__ import annotations

import asyncio
import errno
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from fencepost.telemetry.events import RefusedFor, RequestRefused, emit
from fencepost.telemetry.logs import Log

CONNECTIONS_MAX = 1_000
DESCRIPTORS_MAX = 65_536
TOLD_EVERY_S = 60.0
OUT_OF = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class Member(Protocol):
    """One connection."""

    def drop(self) -> None:
        """Close it now, whatever was not sent yet."""


class Crowd:
    """Those who have said nothing yet and those who rest, the longest first, and those who are answered."""

    def __init__(self, most: int = CONNECTIONS_MAX) -> None:
        self._most = most
        self._silent: dict[Member, None] = {}
        self._resting: dict[Member, None] = {}
        self._answered: dict[Member, None] = {}
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._silent) + len(self._resting) + len(self._answered)

    def enter(self, member: Member) -> None:
        """A new one, in the place of another or of nobody."""
        if self._is_closed:
            member.drop()
            return
        self._silent[member] = None
        if len(self) > self._most:
            goes = next(iter(self._silent if len(self._silent) > 1 else self._resting or self._silent))
            self.leave(goes)
            emit(RequestRefused(RefusedFor.CONNECTIONS))
            goes.drop()

    def ask(self, member: Member) -> None:
        """Its request is whole."""
        self._move(member, self._answered)

    def rest(self, member: Member) -> None:
        """It was answered."""
        self._move(member, self._resting)

    def leave(self, member: Member) -> None:
        """It is over; one that was sent away is gone already."""
        for some in (self._silent, self._resting, self._answered):
            some.pop(member, None)

    def close(self) -> None:
        """Nobody comes any more, and those who have said nothing go."""
        self._is_closed = True
        for member in list(self._silent):
            self.leave(member)
            member.drop()

    def _move(self, member: Member, to: dict[Member, None]) -> None:
        if member in self._silent or member in self._resting or member in self._answered:
            self.leave(member)
            to[member] = None


def connections_max() -> int:
    """How many connections a server has at most, after the process may open as many files as it can get."""
    return min(CONNECTIONS_MAX, _raise_descriptors() // 2)


def _raise_descriptors() -> int:
    """How many files this process may open from now on."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS_MAX if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS_MAX)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            return wanted
    return DESCRIPTORS_MAX if soft == resource.RLIM_INFINITY else soft


@contextmanager
def shortage_told(log: Log) -> Iterator[None]:
    """Within it, that no connection can be accepted for want of files is told once a minute, in one line: the
    loop tries again by itself, many times a second, with a traceback for each."""
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()
    told_at: float | None = None

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal told_at
        if not _is_shortage(context):
            (before or type(loop).default_exception_handler)(loop, context)
        elif told_at is None or loop.time() - told_at >= TOLD_EVERY_S:
            told_at = loop.time()
            mend = "allow the process more open files (ulimit -n)"
            log.error("cannot accept connections", error=context["exception"], mend=mend)

    loop.set_exception_handler(handle)
    try:
        yield
    finally:
        loop.set_exception_handler(before)


def _is_shortage(context: dict[str, Any]) -> bool:
    error = context.get("exception")
    return isinstance(error, OSError) and error.errno in OUT_OF and "accept" in str(context.get("message"))
