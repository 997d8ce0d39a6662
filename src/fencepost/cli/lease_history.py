"""`fencepost leases`: who leads which shard, who did, and whose late writes were refused."""

from __future__ import annotations

from collections.abc import Sequence

import click

from fencepost.cli.calling import calling, whole
from fencepost.cli.fleet_views import print_shards, print_trouble
from fencepost.cli.options import Place, asks_stores, json_option, tz_option
from fencepost.cli.output import print_json, print_table, shown_moment
from fencepost.operations.leases import (
    ListLeasesRequest,
    ListRefusalsRequest,
    ListTermsRequest,
    list_leases,
    list_refusals,
    list_terms,
)
from fencepost.operations.responses.fleet import RefusalResponse, TermResponse

SHARD_MAX = 1_023


@click.command()
@click.option("--shard", type=click.IntRange(0, SHARD_MAX), metavar="N", help="Only the terms of this shard.")
@click.option(
    "--limit", type=click.IntRange(1, 500), default=20, show_default=True, help="How many terms and refusals."
)
@tz_option
@asks_stores
@json_option
def leases(shard: int | None, limit: int, tz: str | None, place: Place, as_json: bool) -> None:
    """Show who leads each shard, who led when, and which writes of former leaders were refused.

    A term is a time for which the plans of one node counted, under one epoch. A refused write came under an
    epoch that was over, and changed nothing.

    \b
    Example:
      fencepost leases
      fencepost leases --shard 3 --limit 100
    """
    with calling(place) as caller:
        found = whole(caller, list_leases, ListLeasesRequest)
        terms = caller.call(list_terms, ListTermsRequest(shard=shard, limit=limit)).items
        refusals = caller.call(list_refusals, ListRefusalsRequest(limit=limit)).items
    print_trouble(found.trouble)
    if as_json:
        lease_store = {"url": found.url, "trouble": found.trouble}
        print_json({"shards": found.items, "terms": terms, "refusals": refusals, "leases": lease_store})
        return
    print_shards(found.items, found.at)
    _print_terms(terms, tz)
    _print_refusals(refusals, tz)


def _print_terms(found: Sequence[TermResponse], tz: str | None) -> None:
    if not found:
        return
    click.echo()
    print_table(
        ("SHARD", "EPOCH", "LED BY", "FROM", "TO", "LEASES"),
        [
            (
                one.shard,
                one.epoch,
                one.holder,
                shown_moment(one.since, tz),
                shown_moment(one.until, tz),
                one.lineage,
            )
            for one in found
        ],
    )


def _print_refusals(found: Sequence[RefusalResponse], tz: str | None) -> None:
    if not found:
        click.echo("\nno write of a former leader was refused")
        return
    click.echo()
    print_table(
        ("REFUSED", "SHARD", "OF", "EPOCH", "LED BY", "EPOCH"),
        [
            (
                shown_moment(one.at, tz),
                one.shard,
                one.holder,
                one.epoch,
                one.known_holder,
                one.known_epoch,
            )
            for one in found
        ],
    )
