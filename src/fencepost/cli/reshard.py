"""`fencepost reshard`: cut the schedules into another number of shards."""

from __future__ import annotations

import click

from fencepost.cli.options import Place, changes_store, json_option
from fencepost.cli.output import print_json


@click.command()
@click.argument("shards", metavar="N", type=int)
@changes_store
@json_option
def reshard(shards: int, place: Place, as_json: bool) -> None:
    """Cut the schedules into N shards, from 1 to 1024.

    A shard is what one node plans at a time, so there should be several for each node that plans, and more
    do no harm. It is safe while nodes run: all schedules move in one transaction, in which every epoch
    rises, so whatever leaders of the old cut still have on its way is refused; within a moment they lead
    by the new one and go on from the same cursors. No tick is lost or doubled. All nodes follow by
    themselves: the setting `shards` (FENCEPOST_SHARDS) counts only where a new store is set up.

    \b
    Example:
      fencepost reshard 32 --reason "twelve planners"
    """
    from fencepost.cli.calling import call
    from fencepost.operations.fleet import Reshard
    from fencepost.operations.fleet import reshard as cut_anew

    done = call(place, cut_anew, Reshard(shards=shards))
    if as_json:
        print_json(done)
    elif not done.changed:
        click.echo(f"{_many(done.after, 'shard')} already: nothing changed")
    else:
        click.echo(
            f"{_many(done.before, 'shard')} before, {done.after} now: {_many(done.moved, 'schedule')} moved"
        )


def _many(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
