"""Kinds of connections that can be lent."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, StrEnum, auto
from typing import Any, Protocol, runtime_checkable

from fencepost.model.dataclasses import dataclass


class Dialect(StrEnum):
    """Which of the stores lives behind the connection."""

    POSTGRES = "postgresql"
    SQLITE = "sqlite"
    MONGODB = "mongodb"


class Kind(Enum):
    """How statements are handed to it."""

    PSYCOPG = auto()
    PSYCOPG_ASYNC = auto()
    ASYNCPG = auto()
    SQLITE3 = auto()
    APSW = auto()
    SQLALCHEMY = auto()
    SQLALCHEMY_ASYNC = auto()
    PYMONGO = auto()
    PYMONGO_ASYNC = auto()
    GUEST = auto()
    """A transaction that the SQLite store itself has opened for a job."""


@dataclass(frozen=True, slots=True)
class Lent:
    """A connection that can carry writes of the ledger."""

    dialect: Dialect
    kind: Kind
    connection: Any
    on_commit: Callable[[Callable[[], None]], object] | None = None
    """Where the owner's framework calls back after the commit."""
    spoil: Callable[[], object] | None = None
    """Where the owner's framework has to be told that nothing may be committed."""


@runtime_checkable
class Lendable(Protocol):
    """A transaction of our own, in which others may write too."""

    def lent(self) -> Lent: ...
