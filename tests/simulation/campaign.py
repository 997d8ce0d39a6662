"""Many worlds: each lived through and judged, and each begun again elsewhere to see that it is the same.

The second time is in a process with another hash seed, for an hour of cluster time: an order that hangs on
hashes, on addresses or on the time of day shows within that. Some worlds are repeated to their end.
"""

from __future__ import annotations

import logging
import os
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from multiprocessing.pool import Pool

from tests.history.coverage import missing
from tests.simulation.broker import BROKER_MISHAPS
from tests.simulation.examination import Examination, examine
from tests.simulation.faults import KINDS
from tests.simulation.message_world import BROKER_KINDS, MessageWorld
from tests.simulation.network import MISHAPS
from tests.simulation.world import Make, World, simulate

PACES = (8, 16)
"""A slower world costs less for an hour, and its faults are as long in terms of its leases."""
WHOLE_EVERY = 25
"""One world in so many is repeated to its end."""
REPEATED_HOURS = 1.0
CORNERS = (
    "clocks: a tick at the end of a gap",
    "clocks: a tick in a fold",
    "dead: permanent failure",
    "filled in",
    "handed back by a stopping worker",
    "retry at the pace of the cap",
    "skipped: superseded",
)
"""Besides what every history has to go through."""


@dataclass(frozen=True)
class Repetition:
    """The same seed again, as far as it was repeated."""

    seed: int
    checkpoint: str
    trace: str | None


@dataclass
class Campaign:
    """What all worlds together came to."""

    examined: list[Examination] = field(default_factory=list)
    repeated: list[Repetition] = field(default_factory=list)
    also: Sequence[str] = ()
    """What these worlds have to go through besides what all have to."""

    @property
    def violations(self) -> list[tuple[int, str]]:
        return [(one.seed, what) for one in self.examined for what in one.violations]

    @property
    def unlike(self) -> list[int]:
        """Seeds that were not the same the second time."""
        first = {one.seed: one for one in self.examined}
        return [
            one.seed
            for one in self.repeated
            if one.checkpoint != first[one.seed].checkpoint or one.trace not in (None, first[one.seed].trace)
        ]

    @property
    def unseen(self) -> list[str]:
        """What no world went through: a campaign with gaps does not count."""
        met = self.seen
        return [
            *missing([met], KINDS),
            *(name for name in (*MISHAPS, *CORNERS, *self.also) if not met[name]),
        ]

    @property
    def seen(self) -> Counter[str]:
        return sum((one.seen for one in self.examined), Counter())

    def total(self, name: str) -> float:
        return float(sum(getattr(one, name) for one in self.examined))


def run(
    seeds: Sequence[int],
    hours: float,
    processes: int,
    paces: Sequence[int] = PACES,
    make: Make = World,
) -> Iterator[tuple[int, Campaign]]:
    """Work through the seeds; yields after each piece of work how many are left."""
    also = (*(f"fault: {kind}" for kind in BROKER_KINDS), *BROKER_MISHAPS) if make is MessageWorld else ()
    campaign, left = Campaign(also=also), 2 * len(seeds)
    with _pool(processes, hash_seed="1") as pool:
        for examination in pool.imap_unordered(partial(examine, hours=hours, paces=paces, make=make), seeds):
            campaign.examined.append(examination)
            left -= 1
            yield left, campaign
    with _pool(processes, hash_seed="2") as pool:
        for repetition in pool.imap_unordered(partial(_repeated, hours=hours, paces=paces, make=make), seeds):
            campaign.repeated.append(repetition)
            left -= 1
            yield left, campaign


def _repeated(seed: int, hours: float, paces: Sequence[int], make: Make) -> Repetition:
    """A world that breaks is told of by its examination."""
    whole = seed % WHOLE_EVERY == 0
    try:
        far = hours if whole else min(hours, REPEATED_HOURS)
        outcome = simulate(seed, far, paces, settles=whole, make=make)
    except Exception:
        return Repetition(seed, "", "")
    return Repetition(seed, outcome.checkpoint, outcome.trace if whole else None)


@contextmanager
def _pool(processes: int, hash_seed: str) -> Iterator[Pool]:
    """Processes that hash in their own way, and that end with whoever wanted them."""
    before = os.environ.get("PYTHONHASHSEED")
    os.environ["PYTHONHASHSEED"] = hash_seed
    try:
        with get_context("spawn").Pool(processes, _be_quiet) as pool:
            yield pool
    finally:
        if before is None:
            del os.environ["PYTHONHASHSEED"]
        else:
            os.environ["PYTHONHASHSEED"] = before


def _be_quiet() -> None:
    """Worlds are talkative; only their verdict matters. Ctrl-C is for whoever began this."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.getLogger("fencepost").setLevel(logging.CRITICAL)
