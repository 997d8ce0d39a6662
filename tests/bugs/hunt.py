"""The hunt: plant a bug, and see whether those who should notice do."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from unittest.mock import patch

import pytest

from tests.bugs.bug import Bug
from tests.bugs.planting import run_with
from tests.simulation import world
from tests.simulation.examination import examine

SEEDS_MAX = 12
SETTLES_MAX = 4
"""A world with a bug in it may never settle; those without one do sooner."""


@dataclass(frozen=True)
class Catch:
    """How a bug was found out."""

    bug: Bug
    worlds: int
    """How many were looked at, the one that showed it included; none where a test is enough."""
    seed: int | None
    violation: str


def hunt(
    bug: Bug, seeds_max: int = SEEDS_MAX, hours: float | None = None, *, blindly: bool = False
) -> Catch | None:
    """Plant the bug and look for it: in the world that is known to show it, unless `blindly`, and then in
    those of the seeds 0, 1, 2 and so on. None where it was not noticed."""
    if not bug.by_a_world:
        return _red(bug)
    seeds = range(seeds_max) if blindly else dict.fromkeys([bug.seed, *range(seeds_max)])
    for number, seed in enumerate(seeds, start=1):
        with bug.plant():
            broken = violations(seed, bug.hours if hours is None else hours)
        for one in broken:
            if one.startswith(f"{bug.caught_by}:"):
                return Catch(bug, number, seed, one)
    return None


def violations(seed: int, hours: float) -> tuple[str, ...]:
    """What the judges say of a world as it is now."""
    with _quiet(), patch.object(world, "SETTLES_MAX", SETTLES_MAX):
        return examine(seed, hours).violations


def _red(bug: Bug) -> Catch | None:
    outcome = run_with(bug)
    if outcome.exit_code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise RuntimeError(f"{bug.caught_by} cannot be run:\n{outcome.printed}")
    return Catch(bug, 0, None, f"{outcome.failed[0]} failed") if outcome.failed else None


@contextmanager
def _quiet() -> Iterator[None]:
    """Worlds are talkative; only their verdict matters here."""
    logger = logging.getLogger("fencepost")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)
