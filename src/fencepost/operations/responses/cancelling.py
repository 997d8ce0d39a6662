"""What became of runs that were to be cancelled."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct


class Fate(StrEnum):
    """What a cancel did to a run."""

    CANCELLED = "cancelled"
    ASKED_TO_STOP = "asked_to_stop"
    HAD_ENDED = "had_ended"
    UNKNOWN = "unknown"
    """There is no such run."""
    REFUSED = "refused"
    """It cannot be asked at the moment; `why` says why."""


class CancelledRun(Struct, kw_only=True):
    """One run, and what became of it."""

    run_key: str
    fate: Fate
    state: Annotated[str | None, Meta(description="As it is now; null where there is no such run.")]
    why: Annotated[str | None, Meta(description="Why it was not cancelled, where that needs saying.")]


class CancelResponse(Struct, kw_only=True):
    """What became of each of them, in the order in which they were named."""

    items: list[CancelledRun]
