"""The base of every part of the rules."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from fencepost.model.table import Range, Row
from fencepost.ports.rows import Rows, Transaction
from fencepost.rules.checks import Checked

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S", bound="Part")
Rule = Callable[Concatenate[S, Transaction, P], Coroutine[Any, Any, T]]
Change = Callable[Concatenate[S, Checked, P], Coroutine[Any, Any, T]]
Verb = Callable[Concatenate[S, P], Coroutine[Any, Any, T]]

PAGE, PAGE_MAX = 100, 1_000


class Part:
    """Some operations of a store, over its rows."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows


def reads(rule: Rule[S, P, T]) -> Verb[S, P, T]:
    """An operation that writes nothing."""

    async def verb(self: S, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._rows.read(lambda tx: rule(self, tx, *args, **kwargs))

    return cast("Verb[S, P, T]", update_wrapper(verb, rule))


def writes(rule: Change[S, P, T]) -> Verb[S, P, T]:
    """An operation that is one transaction."""

    async def verb(self: S, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._rows.write(lambda tx: rule(self, Checked(tx), *args, **kwargs))

    return cast("Verb[S, P, T]", update_wrapper(verb, rule))


async def search(
    tx: Transaction,
    wanted: Range,
    keep: Callable[[Row], bool],
    limit: int | None = None,
    *,
    reverse: bool = False,
) -> list[Row]:
    """The first rows of a range that are wanted, page by page; the first page is small where few are
    wanted."""
    found: list[Row] = []
    async for page in pages(tx, wanted, PAGE if limit is None else limit, reverse=reverse):
        found += filter(keep, page)
        if limit is not None and len(found) >= limit:
            break
    return found[:limit]


async def pages(
    tx: Transaction, wanted: Range, first: int = PAGE, *, reverse: bool = False
) -> AsyncIterator[list[Row]]:
    """The rows of a range, a page at a time: as many as are wanted first, then larger ones."""
    size = max(1, min(first, PAGE_MAX))
    while True:
        page = await tx.find(wanted, limit=size, reverse=reverse)
        yield page
        if len(page) < size:
            return
        place = _place(wanted, page[-1])
        wanted = wanted.before(*place) if reverse else wanted.after(*place)
        size = min(size * 4, PAGE_MAX)


async def groups(
    tx: Transaction, wanted: Range, columns: int, limit: int | None = None
) -> list[tuple[Any, ...]]:
    """The different values of the first columns after the equal ones, in order. It skips from each value to
    the next, with few rows at a time where many have the same values."""
    names, size = wanted.index.columns[len(wanted.equal) :][:columns], 1
    found: dict[tuple[Any, ...], None] = {}
    last: tuple[Any, ...] = ()
    while limit is None or len(found) < limit:
        page = await tx.find(wanted.after(*last) if last else wanted, limit=size)
        met = dict.fromkeys(tuple(row[name] for name in names) for row in page)
        found |= met
        if len(page) < size:
            break
        last = next(reversed(met))
        size = min(size * 4, PAGE) if len(met) == size else 1
    return list(found)[:limit]


def older(numbered: Range, before: int | None) -> Range:
    """The rows with a smaller number, if one is given."""
    return numbered if before is None else numbered.before(before)


def _place(wanted: Range, row: Row) -> list[Any]:
    """Where a row stands among those of the range."""
    return [row[column] for column in wanted.index.columns[len(wanted.equal) :]]
