"""What claimed runs followed, for those whose jobs run after others."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from fencepost.model.identifiers import JobName
from fencepost.model.run import Claim
from fencepost.ports.ledger import Ledger


async def with_predecessors(
    ledger: Ledger, claims: Sequence[Claim], following: Collection[JobName]
) -> Sequence[Claim]:
    """The claims, each with the runs that it followed. Only the runs of jobs that follow others are looked
    up."""
    if not any(one.job in following for one in claims):
        return claims
    return [
        replace(one, after=(await ledger.chain(one.namespace, one.run_key)).after)
        if one.job in following
        else one
        for one in claims
    ]
