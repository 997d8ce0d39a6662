"""Answers that are kept, so that a call that is repeated under the same key is done once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from fencepost.model.clocks import StoreTime
from fencepost.model.dataclasses import dataclass

KEPT_S = 24 * 3600.0
"""How long a key is remembered, counted from the first time it was used."""


@dataclass(frozen=True, slots=True)
class Begun:
    """Go ahead. `asked_at` is the time of the first call; `again`: this is a later call, and the first may
    have been carried out."""

    asked_at: StoreTime
    again: bool = False


@dataclass(frozen=True, slots=True)
class KeptResponse:
    """The call was done already, and this was the answer."""

    status: int
    body: bytes = field(repr=False)
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class InFlight:
    """Another call with the key is being carried out at this moment."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The same key was used for something else."""


Beginning = Begun | KeptResponse | InFlight | Mismatch
