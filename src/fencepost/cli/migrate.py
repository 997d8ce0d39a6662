"""`fencepost migrate`: the store's schema."""

from __future__ import annotations

import click

from fencepost.cli.options import Place, in_store, json_option
from fencepost.cli.output import print_json


@click.command()
@in_store
@json_option
def migrate(place: Place, as_json: bool) -> None:
    """Bring the store's schema up to date.

    SQLite sets itself up when it is first used; PostgreSQL needs this once, and after an upgrade.

    \b
    Example:
      fencepost migrate --store postgresql://shop@db/fencepost
    """
    import asyncio

    from fencepost import wiring

    applied = asyncio.run(wiring.migrate(place.settings()))
    if as_json:
        print_json({"applied": applied})
    elif applied:
        click.echo("\n".join(f"applied {name}" for name in applied))
    else:
        click.echo("up to date")
