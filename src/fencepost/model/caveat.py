"""What a server is set up not to promise."""

from __future__ import annotations

from fencepost.model.dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caveat:
    """What it is, in a sentence for people, and what to do about it."""

    what: str
    remedy: str
