"""Processes that are forked from one which has imported everything already: to import takes longer than to be
killed. They are real ones all the same: each has a session of its own, its log, and an end by any signal.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests.servers.guard import guard

FORKING = get_context("forkserver")
PRELOADED = [
    *("tests.effects.crash_program", "tests.effects.drill_app"),
    *("fencepost.cli.main", "fencepost.cli.run", "fencepost.cli.serving", "fencepost.web.server"),
    *("fencepost.stores.sqlite.store", "fencepost.stores.postgres.store", "fencepost.stores.mongodb"),
    *("aiohttp", "psycopg", "sqlalchemy.ext.asyncio", "django.db"),
]
FORKING.set_forkserver_preload(PRELOADED)


class Fork:
    """One process that calls one function."""

    def __init__(self, name: str, folder: Path, work: Callable[..., Any], *arguments: Any) -> None:
        self.name = name
        self._log = folder / f"{name}.log"
        self._said: set[str] = set()
        self._process = FORKING.Process(target=_apart, args=(str(self._log), work, arguments))
        self._process.start()
        guard().hold(self.pid)
        self._is_guarded = True

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def has_said(self, words: str) -> bool:
        """Whether its log has the words; once it had them, it is not read again."""
        if words not in self._said and words in self.log:
            self._said.add(words)
        return words in self._said

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    def kill(self) -> None:
        self._send(signal.SIGKILL)
        self.ended()

    def freeze(self) -> None:
        self._send(signal.SIGSTOP)

    def thaw(self) -> None:
        self._send(signal.SIGCONT)

    def end(self, at_most_s: float) -> int:
        """Ask it to stop and see that it does."""
        self._send(signal.SIGTERM)
        return self.ended(at_most_s)

    def discard(self) -> None:
        """Have it gone, in whatever state it is. Once more is fine."""
        if self.alive:
            self._send(signal.SIGKILL)
        self.ended()

    def ended(self, within_s: float | None = None) -> int:
        """Its exit code, negative for a signal, once it has ended."""
        self._process.join(within_s)
        code = self._process.exitcode
        assert code is not None, f"{self.name} does not end\n{self.log[-3_000:]}"
        if self._is_guarded:
            self._is_guarded = False
            guard().let_go(self.pid)
        return code

    def _send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)


def command_line(arguments: Sequence[str], environment: dict[str, str]) -> None:
    """To be forked: what `fencepost` does with these words."""
    from fencepost.cli.main import main

    os.environ |= environment
    sys.argv = ["fencepost", *arguments]
    main()


def _apart(log: str, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """In a session of its own: a Ctrl-C that ends the tests is not meant for it."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    work(*arguments)
