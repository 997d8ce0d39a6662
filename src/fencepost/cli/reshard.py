"""`fencepost reshard`: cut the schedules into another number of shards."""

from __future__ import annotations

from fencepost.cli.commands import command
from fencepost.operations.fleet import reshard as cut_anew
from fencepost.operations.responses.fleet import ReshardResponse


@command(
    cut_anew,
    None,
    'fencepost reshard 32 --reason "twelve planners"',
    more="The setting `shards` (FENCEPOST_SHARDS) counts only where a new store is set up.",
    arguments=("shards",),
)
def reshard(done: ReshardResponse) -> str:
    """What was moved."""
    if not done.changed:
        return f"{_many(done.after, 'shard')} already: nothing changed"
    return f"{_many(done.before, 'shard')} before, {done.after} now: {_many(done.moved, 'schedule')} moved"


def _many(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
