"""What a server, as it is set up, does not promise."""

from __future__ import annotations

from fencepost.model.dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caveat:
    """The caveat, in a sentence for people, and what to do about it."""

    what: str
    remedy: str
