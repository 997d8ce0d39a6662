"""Leases: who leads which shard, who did, and whose late writes changed nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Annotated, Literal

from msgspec import Meta, Struct

from fencepost.model.access import Role
from fencepost.model.identifiers import Shard
from fencepost.operations.leases import shown_leases, with_holder, with_holders
from fencepost.operations.words import SHARDS_MAX
from fencepost.services.fleet import look, shown_names
from fencepost.web.dashboard import links
from fencepost.web.dashboard.lease_terms import colours_of, terms_chart
from fencepost.web.dashboard.page import Shown, Visit, page
from fencepost.web.dashboard.tell import Tell

SHARDS_SHOWN = 16
TERMS_MAX = 400
REFUSALS_SHOWN = 50
LEGEND_MAX = 12
Span = Literal["1h", "24h", "7d", "30d"]
SPANS: Mapping[Span, timedelta] = {
    "1h": timedelta(hours=1),
    "24h": timedelta(days=1),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
}


class LeaseQuery(Struct, frozen=True):
    """How much time, which shard, or from which shard on, and from which refusal on."""

    span: Span = "24h"
    shard: Annotated[int, Meta(ge=0, lt=SHARDS_MAX)] | None = None
    first: Annotated[int, Meta(ge=0, lt=SHARDS_MAX)] = 0
    before: Annotated[int, Meta(ge=1, le=2**63 - 1)] | None = None


@page("/leases", Role.VIEWER, title="Leases", template="leases.html", section="leases", query=LeaseQuery)
async def leases_page(visit: Visit[LeaseQuery]) -> Shown:
    """The present leaders, their terms, and what was refused."""
    query, control, store = visit.query, visit.control, visit.control.store
    chosen = None if query.shard is None else Shard(query.shard)
    fleet, terms, refusals, shown_as = await asyncio.gather(
        look(store, control.leases, control.settings.skew_warning_s, control.kept_to),
        store.epochs.terms(chosen, None, TERMS_MAX),
        store.epochs.refusals(query.before, REFUSALS_SHOWN + 1),
        shown_names(store, control.kept_to),
    )
    terms = [with_holder(one, shown_as) for one in terms]
    refusals = [with_holders(one, shown_as) for one in refusals]
    shards = [one for one in fleet.shards if query.shard in (None, one.shard) and one.shard >= query.first]
    shown = shards[:SHARDS_SHOWN]
    begin = visit.now - SPANS[query.span]
    numbers = [int(one.shard) for one in shown]
    within = [one for one in terms if one.shard in numbers and (one.until is None or one.until > begin)]
    colours = colours_of(within)
    reached = terms[-1].since if len(terms) == TERMS_MAX else None
    return {
        "fleet": fleet,
        "shards": shown,
        "shards_left": max(len(shards) - SHARDS_SHOWN, 0),
        "next_url": _url(query, first=numbers[-1] + 1) if len(shards) > SHARDS_SHOWN else None,
        "first_url": _url(query, first=0, shard=None) if query.first or query.shard is not None else None,
        "chart": terms_chart(within, numbers, begin, Tell(visit.now, visit.zone), colours),
        "terms": within[:REFUSALS_SHOWN],
        "terms_from": reached if reached is not None and reached > begin else None,
        "holders": list(colours.items())[:LEGEND_MAX],
        "refusals": refusals[:REFUSALS_SHOWN],
        "older_url": _older(query, [one.number for one in refusals]),
        "choices": [(name, _url(query, span=name), name == query.span) for name in SPANS],
        "query": query,
        "where": shown_leases(control, fleet),
        "failed": sum(one.renewals_failed or 0 for one in fleet.shards),
        "leaderless": sum(one.holder is None for one in fleet.shards),
        "changes": sum(one.transitions for one in fleet.shards),
    }


def _older(query: LeaseQuery, numbers: Sequence[int]) -> str | None:
    if len(numbers) <= REFUSALS_SHOWN:
        return None
    return f"{_url(query, before=numbers[REFUSALS_SHOWN - 1])}#refusals"


def _url(query: LeaseQuery, **changed: object) -> str:
    values: dict[str, object] = {"span": query.span, "shard": query.shard, "first": query.first, **changed}
    if values["span"] == "24h":
        del values["span"]
    if values["shard"] is not None:
        values["shard"] = str(values["shard"])
    return links.with_query("/leases", {name: value for name, value in values.items() if value != 0})
