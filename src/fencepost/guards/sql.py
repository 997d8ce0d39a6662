"""SQL statements that refuse an older fence, for tables that are not beside the ledger.

The fence is compared by the statement that writes, under the row's lock: there is no moment between a look
and a write. Names of tables and columns are checked and quoted here, because no driver binds them; values
are always bound.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from string import Template
from typing import Any

from fencepost.errors import InvalidSpec, StaleFence, UsageError
from fencepost.guards.remedy import REMEDY
from fencepost.model.quoting import quoted

NAME_LENGTH_MAX = 63
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_PLACE = re.compile("%s")
_STATUS = re.compile(r"[A-Z]+(?: \d+)* (\d+)")


@dataclass(frozen=True)
class FencedStatement:
    """A statement with `%s` for values, as psycopg, Django and `tx.execute` take it.

    `numbered` is the same with `$1` for asyncpg, `marked` with `?` for sqlite3 and apsw.
    """

    statement: str
    places: tuple[str, ...]
    """Which column each place is for; the fence's may come twice."""
    fence: str
    table: str

    @property
    def numbered(self) -> str:
        """The statement with `$1`, `$2` for values, as asyncpg takes it."""
        return self._written(lambda number: f"${number}")

    @property
    def marked(self) -> str:
        """The statement with `?` for values, as SQLite takes it."""
        return self._written(lambda number: "?")

    def parameters(self, fence: int, **columns: Any) -> tuple[Any, ...]:
        """The values in the order of the places."""
        given = {**columns, self.fence: fence}
        wanted = set(self.places)
        if given.keys() != wanted:
            named = ", ".join(sorted(wanted - {self.fence}))
            raise UsageError(f"table {self.table}: expected values for {named}, not for {', '.join(columns)}")
        return tuple(given[name] for name in self.places)

    def check(self, touched: int | str) -> None:
        """Raise `StaleFence` where the statement wrote nothing.

        `touched` is the driver's count of rows (`cursor.rowcount`, what `tx.execute` returns), or what
        asyncpg's `execute` returns, `INSERT 0 1`.
        """
        if _count(touched) == 0:
            raise StaleFence(f"table {self.table}: the row has a larger fence, or is not there; {REMEDY}")

    def _written(self, mark: Callable[[int], str]) -> str:
        numbers = iter(range(1, len(self.places) + 1))
        return _PLACE.sub(lambda _: mark(next(numbers)), self.statement)


def fenced_upsert(
    table: str, *, key: Sequence[str], values: Sequence[str] = (), fence: str = "fence"
) -> FencedStatement:
    """Insert a row or overwrite it, unless it has a larger fence. `key` are the columns of a unique index.

    Places: the key, the values, the fence. An equal fence passes: the same attempt may write again.
    """
    columns = _columns(table, key, values, fence)
    statement = _template("upsert.sql").substitute(
        table=_table(table),
        columns=", ".join(_name(one) for one in columns),
        places=", ".join("%s" for _ in columns),
        key=", ".join(_name(one) for one in key),
        changes=", ".join(f"{_name(one)} = excluded.{_name(one)}" for one in (*values, fence)),
        fence=_name(fence),
    )
    return FencedStatement(" ".join(statement.split()), columns, fence, table)


def fenced_update(
    table: str, *, key: Sequence[str], values: Sequence[str] = (), fence: str = "fence"
) -> FencedStatement:
    """Change a row that is there, unless it has a larger fence.

    Places: the values, the fence, the key, the fence again. A row that is missing is refused like a stale
    fence: the statement cannot tell the two apart.
    """
    _columns(table, key, values, fence)
    statement = _template("update.sql").substitute(
        table=_table(table),
        changes=", ".join(f"{_name(one)} = %s" for one in (*values, fence)),
        key=" AND ".join(f"{_name(one)} = %s" for one in key),
        fence=_name(fence),
        limit="%s",
    )
    return FencedStatement(" ".join(statement.split()), (*values, fence, *key, fence), fence, table)


def _columns(table: str, key: Sequence[str], values: Sequence[str], fence: str) -> tuple[str, ...]:
    """All columns, the key first, each named once."""
    for word, given in (("key", key), ("values", values)):
        if isinstance(given, str):
            raise InvalidSpec(f'table {quoted(table)}: {word}: expected names as in ("{given}",), not a text')
    columns = (*key, *values, fence)
    if not key:
        raise InvalidSpec(f"table {quoted(table)}: key: expected at least one column")
    if len(set(columns)) != len(columns):
        raise InvalidSpec(f"table {quoted(table)}: a column is named twice in {', '.join(columns)}")
    return columns


def _table(table: str) -> str:
    """`accounts` or `shop.accounts`, each part quoted."""
    parts = table.split(".")
    if len(parts) > 2:
        raise InvalidSpec(f"table {quoted(table)}: expected table or schema.table")
    return ".".join(_name(one) for one in parts)


def _name(name: str) -> str:
    """The name quoted, or a refusal: what is not a plain name is not made one."""
    if len(name) > NAME_LENGTH_MAX or not _NAME.fullmatch(name):
        raise InvalidSpec(f"name {quoted(name)}: expected up to {NAME_LENGTH_MAX} letters, digits and _")
    return f'"{name}"'


def _count(touched: int | str) -> int:
    if isinstance(touched, str):
        found = _STATUS.fullmatch(touched)
        touched = int(found[1]) if found else -1
    if touched < 0:
        raise UsageError("check: expected how many rows the statement touched; this driver did not say")
    return touched


def _template(file: str) -> Template:
    return Template(resources.files(__package__).joinpath(file).read_text("utf-8"))
