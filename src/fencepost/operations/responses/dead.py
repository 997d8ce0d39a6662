"""What became of dead runs that were to be replayed."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct


class LeftRun(Struct, kw_only=True):
    """A run that was left as it was, and why."""

    run_key: str
    state: Annotated[str | None, Meta(description="As it is now; null where there is no such run.")]
    why: Annotated[str, Meta(examples=["is succeeded, not dead"])]


class DeadReplay(Struct, kw_only=True):
    """Which dead runs were sent on their way again, or would be, and which were left as they were."""

    replayed: Annotated[list[str], Meta(description="Their keys, in the order of their turn.")]
    left: list[LeftRun]
    would_replay: Annotated[list[str], Meta(description="Of a dry run, instead of `replayed`.")]
    duration_s: Annotated[float, Meta(description="From the first to the last of them becoming due.")]
