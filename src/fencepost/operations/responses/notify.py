"""Notification targets."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from fencepost.model.notification import Target, TargetKind
from fencepost.operations.paging import Next


class TargetResponse(Struct, kw_only=True):
    """A target, without what may be secret in its URL."""

    name: Annotated[str, Meta(examples=["ops"])]
    kind: TargetKind
    to: Annotated[str, Meta(description="Where it sends.", examples=["https://hooks.example.org/…"])]
    events: Annotated[list[str], Meta(description="Of what it is told; nothing: of all.")]
    jobs: Annotated[list[str], Meta(description="Of which jobs; nothing: of all.")]
    schedules: Annotated[list[str], Meta(description="Of which schedules; nothing: of all.")]
    signed: bool
    from_code: Annotated[bool, Meta(description="Whether code or a file brings it.")]


class TargetPage(Struct, kw_only=True):
    """Targets, by name."""

    items: list[TargetResponse]
    next: Next


class RemovedTarget(Struct, kw_only=True):
    """A target that is not there any more."""

    name: str
    removed: bool


class TargetTrial(Struct, kw_only=True):
    """The run that sends the test."""

    name: str
    run_key: str


def target_response(target: Target) -> TargetResponse:
    """A target."""
    return TargetResponse(
        name=target.name,
        kind=target.kind,
        to=target.shown,
        events=[str(one) for one in target.events],
        jobs=list(target.jobs),
        schedules=list(target.schedules),
        signed=target.secret is not None,
        from_code=target.from_code,
    )
