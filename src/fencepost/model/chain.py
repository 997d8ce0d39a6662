"""Chains: a run's predecessors, its successors, and the keys by which each successor exists once.

All runs that come of one run share its *root*: the key of the tick, or of the run by hand, at the head of
the chain. So a job has one run for each root, however often a predecessor ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from hashlib import sha256
from typing import Any

from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import NAME_LENGTH_MAX, JobName, RunKey
from fencepost.model.json import JsonObject
from fencepost.model.run import Predecessor, RunState

AFTER, JOIN = "after", "join"
"""The word after the job in the key of a successor: of a chain, or of a join. Neither is a time, as in the
key of a tick, and a key by hand has only one #."""
ROOT_BYTES_MAX = 1_000
RUN_KEY_LENGTH_MAX = NAME_LENGTH_MAX + len(f"#{AFTER}#") + ROOT_BYTES_MAX


def predecessors_to_json(after: Iterable[Predecessor]) -> list[JsonObject]:
    """For programs in any language."""
    return [{**asdict(one), "state": one.state.value} for one in after]


def predecessors_from_json(said: Iterable[Mapping[str, Any]]) -> tuple[Predecessor, ...]:
    """The inverse; a missing field takes its default."""
    return tuple(Predecessor(**{**one, "state": RunState(one["state"])}) for one in said)


@dataclass(frozen=True, slots=True)
class Successor:
    """A run that follows this one; its state is None where it waits for another predecessor."""

    key: RunKey
    job: JobName
    state: RunState | None


@dataclass(frozen=True, slots=True)
class Chain:
    """The runs right before and right after one run."""

    after: tuple[Predecessor, ...] = ()
    then: tuple[Successor, ...] = ()


def root_of(run_key: str, *, is_tick: bool) -> str:
    """The key at the head of the chain that a run is in; its own where it is the first."""
    kind, _, root = run_key.partition("#")[2].partition("#")
    return root if kind == AFTER and root and not is_tick else run_key


def is_successor(run_key: str) -> bool:
    """Whether the key, which is not a tick's, is that of a run that predecessors enqueued at their ends."""
    return run_key.split("#")[1:2] in ([AFTER], [JOIN]) and run_key.count("#") > 1


def occasion_of(root: str) -> str:
    """What the runs of a join have in common: the fire time of their ticks, or the key that they were given
    by hand."""
    parts = root.split("#")
    is_tick = len(parts) == len(("schedule", "fire time", "version")) and parts[1] != JOIN
    return parts[1] if is_tick else parts[-1]


def successor_key(job: JobName, root: str, *, joins: bool) -> RunKey:
    """The key of the one run of a job that has this root."""
    kind, rest = (JOIN, occasion_of(root)) if joins else (AFTER, root)
    # A database index bounds the length of its entries; a digest tells roots apart as well.
    full = rest.encode("utf-8", "surrogatepass")
    return RunKey(f"{job}#{kind}#{rest if len(full) <= ROOT_BYTES_MAX else sha256(full).hexdigest()}")
