"""`fencepost copy`: a whole ledger from one store to another."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import click

from fencepost.cli.authors import this_author
from fencepost.cli.faults import INTERRUPTED
from fencepost.cli.options import Place, json_option
from fencepost.cli.output import print_json
from fencepost.cli.progress import Progress
from fencepost.model.high_water import HighWater
from fencepost.services.copying import Copier, Seen, look
from fencepost.wiring import open_existing_store, open_store, shown_store


@click.command()
@click.option("--from", "source", metavar="URL", required=True, help="The store that has the ledger.")
@click.option("--to", "target", metavar="URL", required=True, help="A store that is new, and has nothing.")
@click.option("--reason", metavar="TEXT", help="Why, for the log; see: fencepost log.")
@json_option
@click.pass_context
def copy(context: click.Context, source: str, target: str, reason: str | None, as_json: bool) -> None:
    """Copy a whole ledger into another store, while no process works on either.

    Everything goes: schedules and their versions, cursors, runs with their keys, attempts and logs,
    calendars, gates, freezes, limits, backfills, tokens, and the audit log. The source stays as it is. The
    target gives out fences above all of the source, as after a restored backup.

    Stop every process of the source first; set the target up with fencepost migrate (SQLite does that by
    itself). Until the copy has ended no process opens the target; run the same command again after an
    interruption, and it begins anew.

    \b
    Example:
      fencepost copy --from sqlite:///fencepost.db --to postgresql://shop@db/fencepost
      fencepost copy --from sqlite:///fencepost.db --to 'mongodb://h1,h2,h3/shop?replicaSet=rs0'
    """
    try:
        seen, lifted = asyncio.run(_copied(Place(source, None), Place(target, None), reason))
    except KeyboardInterrupt:
        click.echo("\nstopped; no process opens a target with part of a ledger: copy again", err=True)
        context.exit(INTERRUPTED)
    _print(seen, lifted, as_json)


async def _copied(source: Place, target: Place, reason: str | None) -> tuple[Seen, HighWater]:
    here, there = source.settings(), target.settings()
    author = this_author(reason or f"copied from {shown_store(here)}")
    async with AsyncExitStack() as closing:
        old = await open_existing_store(here)
        closing.push_async_callback(old.close)
        seen = await look(old)
        new = await open_store(there, unfinished=True)
        closing.push_async_callback(new.close)
        copier = Copier(old, seen, new)
        await copier.check()
        with Progress(seen.total, "copying") as bar:
            return seen, await copier.copy(there.namespace, author, bar.reached)


def _print(seen: Seen, lifted: HighWater, as_json: bool) -> None:
    if as_json:
        print_json({"rows": dict(seen.rows), "target": lifted.to_json()})
        return
    for name, number in seen.rows.items():
        if number:
            click.echo(f"{number:>9}  {name.replace('_', ' ')}")
    click.echo(
        f"copied {seen.total} rows; incarnation {lifted.incarnation}, fences go on above {lifted.fence}"
    )
