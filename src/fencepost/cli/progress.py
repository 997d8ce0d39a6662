"""A bar for whoever watches: on stderr, and only where that is a terminal."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Self

import click

LONG_AFTER = 10


class Progress:
    """How much of something has been done."""

    def __init__(self, length: int, label: str) -> None:
        self.value = 0
        self._length = length
        self._label = label
        self._bar: Any = None

    def reached(self, value: int) -> None:
        """So much of it by now; it never goes back."""
        step = max(value - self.value, 0)
        self.value += step
        if self._bar is not None:
            self._bar.update(step)

    def __enter__(self) -> Self:
        if sys.stderr.isatty() and self._length:
            self._bar = click.progressbar(length=self._length, label=self._label, file=sys.stderr)
            self._bar.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.__exit__(kind, error, trace)


class Tally:
    """How far it is where nobody knows how much there is, once it takes long."""

    def __init__(self) -> None:
        self._calls = 0
        self._shows = sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._shows and self._calls > LONG_AFTER:
            click.echo("\r\033[K", nl=False, err=True)

    def reached(self, what: str, runs: int) -> None:
        """One more page of runs was looked at."""
        self._calls += 1
        if self._shows and self._calls > LONG_AFTER:
            click.echo(f"\r\033[K{what}: {runs} runs", nl=False, err=True)
