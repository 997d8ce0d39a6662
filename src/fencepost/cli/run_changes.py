"""Commands that change what becomes of one run, named by its key or by schedule and fire time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import click

from fencepost.cli.commands import command
from fencepost.operations.operation import Operation
from fencepost.operations.responses.runs import RunResponse

Fate: TypeAlias = tuple[str, bool]
"""What is said of a run, and whether it is what was asked for."""


def changes(
    group: click.Group,
    verb: Operation[Any, Any, RunResponse],
    fate: Callable[[RunResponse], Fate],
    *examples: str,
    more: str,
) -> None:
    """Add a command that changes what becomes of one run; exit 1 where that is not what was asked for."""
    made = command(verb, group, *examples, more=more, done=lambda run: fate(run)[1])
    made(lambda run: f"{run.run_key}: {fate(run)[0]}")


def cancelled(run: RunResponse) -> Fate:
    """Whether a cancel was heard."""
    return ("asked to stop", True) if run.state == "running" else (run.state, run.state == "cancelled")


def skipped(run: RunResponse) -> Fate:
    """Whether the run is called off."""
    return run.state, run.state == "skipped"


def held(run: RunResponse) -> Fate:
    """Whether the run is held."""
    done = _waits(run) and "operator" in run.held
    return "held" if done else run.state, done


def released(run: RunResponse) -> Fate:
    """Whether the run waits, and nobody holds it."""
    if not _waits(run):
        return run.state, False
    return f"released, still held: {', '.join(run.held)}" if run.held else "released", True


def _waits(run: RunResponse) -> bool:
    return run.state in ("planned", "ready")
