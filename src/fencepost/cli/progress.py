"""A bar for whoever watches: on stderr, and only where that is a terminal."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Self

import click

from fencepost.model.migration_progress import MigrationProgress

LONG_AFTER = 10
BAR_WIDTH = 24


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


class MigrationLine:
    """How far a migration is: a bar on a terminal; elsewhere one line when it begins to wait for a lock."""

    def __init__(self) -> None:
        self._shows = sys.stderr.isatty()
        self._last = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._shows and self._last:
            click.echo("\r\033[K", nl=False, err=True)

    def __call__(self, progress: MigrationProgress) -> None:
        told = f"{progress.migration}: {progress.doing}"
        if self._shows:
            click.echo(f"\r\033[K{told}{_far(progress)}", nl=False, err=True)
        elif "waits" in progress.doing and told != self._last:
            click.echo(told, err=True)
        self._last = told


def _far(progress: MigrationProgress) -> str:
    """A bar, or a number where the end is not known."""
    if progress.total is None:
        return f" {progress.done}" if progress.done else ""
    share = min(progress.done / progress.total, 1.0)
    filled = int(share * BAR_WIDTH)
    return f" [{'#' * filled}{'-' * (BAR_WIDTH - filled)}] {share:.0%}"
