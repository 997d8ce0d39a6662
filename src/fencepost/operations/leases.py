"""The verbs of leases: who leads which shard, who did, and whose late writes were refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, TypeAlias

from msgspec import Meta

from fencepost.model.access import Role
from fencepost.model.address import mask
from fencepost.model.identifiers import Lineage, NodeId, Shard
from fencepost.model.leader import Refusal, Term
from fencepost.operations.control import Control
from fencepost.operations.operation import Request, operation
from fencepost.operations.paging import (
    LIMIT_DEFAULT,
    Cursor,
    Limit,
    cut,
    encode_cursor,
    number_behind,
    sliced,
)
from fencepost.operations.responses.fleet import (
    LeasePage,
    RefusalPage,
    TermPage,
    refusal_response,
    shard_response,
    term_response,
)
from fencepost.operations.words import SHARDS_MAX, moment
from fencepost.services.fleet import FleetView, look, shown_names

Shown: TypeAlias = Callable[[NodeId], NodeId]


class ListLeasesRequest(Request, frozen=True, kw_only=True):
    """Which part of the list."""

    limit: Limit = LIMIT_DEFAULT
    after: Cursor | None = None


class ListTermsRequest(Request, frozen=True, kw_only=True):
    """Which terms to list."""

    shard: Annotated[int, Meta(ge=0, lt=SHARDS_MAX, description="Only of this shard.")] | None = None
    limit: Limit = LIMIT_DEFAULT
    after: Cursor | None = None


class ListRefusalsRequest(Request, frozen=True, kw_only=True):
    """Which part of the list."""

    limit: Limit = LIMIT_DEFAULT
    after: Cursor | None = None


@operation("leases.list", "GET /leases", Role.VIEWER)
async def list_leases(control: Control, request: ListLeasesRequest) -> LeasePage:
    """List the shards with who leads them, under which epoch, and for how long.

    Where the lease store does not answer, the rest is there all the same."""
    fleet = await look(control.store, control.leases, control.settings.skew_warning_s, control.kept_to)
    page, after = sliced(
        fleet.shards, lambda one: (int(one.shard),), tuple[int], request.limit, request.after
    )
    return LeasePage(
        items=[shard_response(one) for one in page],
        next=after,
        at=moment(fleet.at),
        url=shown_leases(control, fleet),
        trouble=fleet.trouble,
    )


@operation("leases.terms", "GET /leases/terms", Role.VIEWER)
async def list_terms(control: Control, request: ListTermsRequest) -> TermPage:
    """List who led which shard when, the latest first."""
    shard = None if request.shard is None else Shard(request.shard)
    found = await control.store.epochs.terms(shard, number_behind(request.after), request.limit + 1)
    page, last = cut(found, request.limit)
    following = None if last is None else encode_cursor(last.number)
    shown = await shown_names(control.store, control.kept_to)
    return TermPage(items=[term_response(with_holder(one, shown)) for one in page], next=following)


@operation("leases.refusals", "GET /leases/refusals", Role.VIEWER)
async def list_refusals(control: Control, request: ListRefusalsRequest) -> RefusalPage:
    """List the writes of leaders that had been followed by another: each was refused and changed nothing."""
    found = await control.store.epochs.refusals(number_behind(request.after), request.limit + 1)
    page, last = cut(found, request.limit)
    following = None if last is None else encode_cursor(last.number)
    shown = await shown_names(control.store, control.kept_to)
    return RefusalPage(items=[refusal_response(with_holders(one, shown)) for one in page], next=following)


def shown_leases(control: Control, fleet: FleetView) -> str | None:
    """The lease store's URL without its passwords; None where leases live in the store, or where only a part
    of the fleet is shown."""
    return mask(control.settings.leases) if control.settings.leases and not fleet.narrowed else None


def with_holder(term: Term, shown: Shown) -> Term:
    """A term with the name of its holder as it is shown, and without its lease store where that is hidden."""
    holder = shown(term.holder)
    return replace(term, holder=holder, lineage=term.lineage if holder == term.holder else Lineage(""))


def with_holders(refusal: Refusal, shown: Shown) -> Refusal:
    """A refused write with the names of its two holders as they are shown."""
    known = refusal.known_holder
    known_holder = None if known is None else shown(NodeId(known))
    return replace(refusal, holder=shown(refusal.holder), known_holder=known_holder)
