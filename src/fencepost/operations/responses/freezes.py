"""Freezes."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from fencepost.model.freeze import Freeze, Scope, ScopeKind
from fencepost.operations.paging import Next
from fencepost.operations.words import Moment, moment


class FreezeResponse(Struct, kw_only=True):
    """A freeze in force, with who asked for it, from where, and why."""

    kind: ScopeKind
    value: Annotated[str, Meta(examples=["team=billing"])]
    since: Moment
    author: str
    source: str
    reason: str | None

    @property
    def scope(self) -> Scope:
        """What it covers."""
        return Scope(self.kind, self.value)


class FreezePage(Struct, kw_only=True):
    """The freezes in force, by what they cover."""

    items: list[FreezeResponse]
    next: Next


class FreezeChangeResponse(Struct, kw_only=True):
    """What is frozen, or is not any more; `changed` says whether that is news."""

    kind: ScopeKind
    value: str
    changed: bool
    schedules: Annotated[int, Meta(description="How many schedules that covers at this moment.")]


def freeze_response(freeze: Freeze) -> FreezeResponse:
    """A freeze."""
    return FreezeResponse(
        kind=freeze.scope.kind,
        value=freeze.scope.value,
        since=moment(freeze.since),
        author=freeze.author.name,
        source=freeze.author.source,
        reason=freeze.author.reason,
    )
