"""What every accelerated part of the store stands on."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import apsw

from fencepost.model.clocks import StoreTime
from fencepost.ports.signals import Topic
from fencepost.rules.part import Part
from fencepost.stores.sqlite.connection import Database
from fencepost.stores.sqlite.rows import SqliteRows

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S", bound="SqlitePart")


class SqlitePart(Part):
    """A part by the rules that replaces verbs for which statements of its own pay."""

    _rows: SqliteRows

    @property
    def _database(self) -> Database:
        return self._rows.database

    def _hint_if(self, something_waits: bool) -> None:
        if something_waits:
            self._rows.signals.hint(Topic.RUNS)


def reading(
    work: Callable[Concatenate[S, apsw.Connection, StoreTime, P], T],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """A verb that reads in one snapshot, in the thread of the database."""

    async def verb(self: S, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.read(lambda connection, now: work(self, connection, now, *args, **kwargs))

    return cast("Callable[Concatenate[S, P], Coroutine[Any, Any, T]]", update_wrapper(verb, work))
