"""`fencepost restore-check`: whether the ledger is older than what others have seen of it."""

from __future__ import annotations

import asyncio

import click

from fencepost.cli.faults import FINE, NO
from fencepost.cli.leases import leases_elsewhere
from fencepost.cli.options import Place, in_stores, json_option
from fencepost.cli.output import print_json
from fencepost.services.restoring import RestoreCheck, check
from fencepost.wiring import open_existing_store


@click.command("restore-check")
@click.option(
    "--fence", type=click.IntRange(1), metavar="N", help="The largest fence that a guarded system has seen."
)
@in_stores
@json_option
@click.pass_context
def restore_check(context: click.Context, fence: int | None, place: Place, as_json: bool) -> None:
    """Look whether the ledger is older than what others have seen, as after a restored backup.

    Asked are the nodes that ran across the restore (they mark the ledger), the lease store, and what you know
    of guards: the largest fence in a table that refuses smaller ones. Exit 1 where the ledger is older; then
    run: fencepost migrate --restored. That nothing tells of it proves nothing: after a restore run it anyway.

    \b
    Example:
      fencepost restore-check --fence 874
      fencepost restore-check --leases etcd://etcd-1:2379
    """
    found = asyncio.run(_checked(place, fence))
    if as_json:
        print_json(found.to_json())
    else:
        click.echo(f"incarnation {found.high_water.incarnation}, last fence {found.high_water.fence}")
        for why in found.older:
            click.echo(f"older: {why}")
        click.echo("run: fencepost migrate --restored" if found.older else "nothing tells that it is older")
    context.exit(NO if found.older else FINE)


async def _checked(place: Place, fence: int | None) -> RestoreCheck:
    settings = place.settings()
    store = await open_existing_store(settings)
    try:
        return await check(store, leases_elsewhere(settings, store), fence)
    finally:
        await store.close()
