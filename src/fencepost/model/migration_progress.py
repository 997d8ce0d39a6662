"""How far a migration of a store is, for the operator who watches it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from fencepost.model.dataclasses import dataclass


@dataclass(frozen=True)
class MigrationProgress:
    """What a migration does at the moment; `total` is None where that is not known."""

    migration: str
    doing: str
    done: int
    total: int | None


Tell: TypeAlias = Callable[[MigrationProgress], None]


def say_nothing(_: MigrationProgress) -> None:
    """Where no operator watches."""
