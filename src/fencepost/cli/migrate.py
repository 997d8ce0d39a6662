"""`fencepost migrate`: the store's schema, and a ledger that was restored from a backup."""

from __future__ import annotations

import asyncio

import click

from fencepost import wiring
from fencepost.cli.authors import this_author
from fencepost.cli.options import Place, in_store, json_option
from fencepost.cli.output import print_json
from fencepost.cli.progress import MigrationLine
from fencepost.model.high_water import HighWater
from fencepost.wiring import open_existing_store


@click.command()
@click.option(
    "--restored", is_flag=True, help="The store was restored from a backup: give out no fence of it again."
)
@click.option("--reason", metavar="TEXT", help="Why, for the log; with --restored.")
@in_store
@json_option
def migrate(restored: bool, reason: str | None, place: Place, as_json: bool) -> None:
    """Bring the store's schema up to date.

    SQLite sets itself up when it is first used; PostgreSQL needs this once, and after an upgrade. On
    PostgreSQL it stops no process at work: indexes are built concurrently, rows are changed in batches, and
    a lock that is not to be had is tried again. One that was cut off goes on when it is run again.

    After a backup was restored, run it with --restored before any process starts. Fences and epochs are
    lifted past all that were given out since the backup, the ledger begins its next incarnation, and the log
    has an entry.

    \b
    Example:
      fencepost migrate --store postgresql://shop@db/fencepost
      fencepost migrate --restored --reason "disk lost, backup of 02:00"
    """
    with MigrationLine() as told:
        applied = asyncio.run(wiring.migrate(place.settings(), restored=restored, tell=told))
    lifted = asyncio.run(_restore(place, reason)) if restored else None
    if as_json:
        print_json({"applied": applied} | ({} if lifted is None else {"restored": lifted.to_json()}))
        return
    click.echo("\n".join(f"applied {name}" for name in applied) if applied else "up to date")
    if lifted is not None:
        click.echo(f"restored: incarnation {lifted.incarnation}, fences go on above {lifted.fence}")


async def _restore(place: Place, reason: str | None) -> HighWater:
    settings = place.settings()
    store = await open_existing_store(settings)
    try:
        return await store.epochs.restore(settings.namespace, this_author(reason))
    finally:
        await store.close()
