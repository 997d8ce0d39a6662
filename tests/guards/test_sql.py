"""The SQL guards: an older fence is refused by the statement itself, on real databases."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from fencepost.errors import InvalidSpec, StaleFence, UsageError
from fencepost.guards import FencedStatement, fenced_update, fenced_upsert
from tests.transactions.ground import Ground, open_ground

CREATE = 'CREATE TABLE accounts (account text PRIMARY KEY, amount bigint, "fence" bigint)'
UPSERT = fenced_upsert("accounts", key=("account",), values=("amount",))
UPDATE = fenced_update("accounts", key=("account",), values=("amount",))


class Table(Protocol):
    """A table of accounts on some database."""

    def write(self, guard: FencedStatement, fence: int, amount: int) -> None: ...

    def rows(self) -> list[tuple[Any, ...]]: ...

    def do(self, statement: str) -> None: ...


class Plain:
    """Over a driver with cursors."""

    def __init__(self, connection: Any, form: Callable[[FencedStatement], str]) -> None:
        self._connection = connection
        self._form = form
        self.do(CREATE)

    def write(self, guard: FencedStatement, fence: int, amount: int) -> None:
        parameters = guard.parameters(fence, account="a", amount=amount)
        cursor = self._connection.cursor()
        cursor.execute(self._form(guard), parameters)
        guard.check(cursor.rowcount)

    def rows(self) -> list[tuple[Any, ...]]:
        cursor = self._connection.cursor()
        cursor.execute("SELECT account, amount, fence FROM accounts")
        return [tuple(row) for row in cursor.fetchall()]

    def do(self, statement: str) -> None:
        self._connection.cursor().execute(statement)


@pytest.fixture
def on_sqlite(tmp_path: Path) -> Iterator[Table]:
    connection = sqlite3.connect(tmp_path / "other.db")
    yield Plain(connection, lambda guard: guard.marked)
    connection.close()


@pytest.fixture
def on_postgres(empty_postgres_url: str) -> Iterator[Table]:
    import psycopg

    with psycopg.connect(empty_postgres_url) as connection:
        yield Plain(connection, lambda guard: guard.statement)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def table(request: pytest.FixtureRequest) -> Table:
    found: Table = request.getfixturevalue(f"on_{request.param}")
    return found


def test_a_straggler_does_not_overwrite_its_successor(table: Table) -> None:
    table.write(UPSERT, 4, 10)
    table.write(UPSERT, 7, 20)
    for guard in (UPSERT, UPDATE):
        with pytest.raises(StaleFence, match="accounts"):
            table.write(guard, 4, 10)
    assert table.rows() == [("a", 20, 7)]


def test_the_same_attempt_may_write_again(table: Table) -> None:
    table.write(UPSERT, 4, 10)
    table.write(UPSERT, 4, 11)
    table.write(UPDATE, 4, 12)
    assert table.rows() == [("a", 12, 4)]


def test_a_later_attempt_changes_the_row_and_its_fence(table: Table) -> None:
    table.write(UPSERT, 4, 10)
    table.write(UPDATE, 5, 11)
    assert table.rows() == [("a", 11, 5)]


def test_a_row_from_before_the_guard_has_no_fence_and_takes_any(table: Table) -> None:
    table.do("INSERT INTO accounts VALUES ('a', 1, NULL)")
    table.write(UPDATE, 1, 2)
    table.do("UPDATE accounts SET fence = NULL")
    table.write(UPSERT, 1, 3)
    assert table.rows() == [("a", 3, 1)]


def test_an_update_makes_no_row(table: Table) -> None:
    with pytest.raises(StaleFence, match="not there"):
        table.write(UPDATE, 1, 2)
    assert table.rows() == []


@pytest.mark.postgres
async def test_asyncpg_counts_in_words(empty_postgres_url: str) -> None:
    import asyncpg

    connection = await asyncpg.connect(empty_postgres_url)
    await connection.execute(CREATE)
    for guard in (UPSERT, UPDATE):
        for fence in (3, 3, 4):
            values = guard.parameters(fence, account="a", amount=fence)
            guard.check(await connection.execute(guard.numbered, *values))
        stale = guard.parameters(2, account="a", amount=0)
        with pytest.raises(StaleFence):
            guard.check(await connection.execute(guard.numbered, *stale))
        await connection.execute("UPDATE accounts SET fence = 0")
    await connection.close()


@pytest.mark.parametrize("place", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def test_a_runs_own_transaction_takes_it_too(
    place: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = (
        f"sqlite:///{tmp_path / 'ledger.db'}"
        if place == "sqlite"
        else request.getfixturevalue("postgres_url")
    )
    ground: Ground = await open_ground(url)
    run = ground.run(await ground.claimed())
    async with run.transaction() as tx:
        await tx.execute(CREATE)
        UPSERT.check(await tx.execute(UPSERT.statement, UPSERT.parameters(run.fence, account="a", amount=1)))
        stale = UPSERT.parameters(run.fence - 1, account="a", amount=2)
        with pytest.raises(StaleFence):
            UPSERT.check(await tx.execute(UPSERT.statement, stale))
        assert await tx.fetch_value("SELECT amount FROM accounts") == 1
    await ground.store.close()


HOSTILE = ['a"b', "a b", "a;b", "a%s", "", "1a", "é", "a" * 64, "a\n", "a--", "(a)"]


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("make", [fenced_upsert, fenced_update])
def test_a_name_that_is_no_plain_name_is_refused(make: Callable[..., FencedStatement], name: str) -> None:
    for words in (
        {"table": name, "key": ("a",)},
        {"table": f"shop.{name}", "key": ("a",)},
        {"table": "t", "key": (name,)},
        {"table": "t", "key": ("a",), "values": (name,)},
        {"table": "t", "key": ("a",), "fence": name},
    ):
        with pytest.raises(InvalidSpec, match="expected up to 63 letters"):
            make(words.pop("table"), **words)


def test_every_name_is_quoted() -> None:
    guard = fenced_upsert("shop.order", key=("group", "user"), values=("select",), fence="table")
    assert '"shop"."order"' in guard.statement
    assert 'ON CONFLICT ("group", "user")' in guard.statement
    assert guard.places == ("group", "user", "select", "table")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ({"key": "account"}, "not a text"),
        ({"key": ("a",), "values": "amount"}, "not a text"),
        ({"key": ()}, "at least one"),
        ({"key": ("a",), "values": ("a",)}, "twice"),
        ({"key": ("fence",)}, "twice"),
    ],
)
def test_columns_that_cannot_be_are_refused(words: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidSpec, match=complaint):
        fenced_upsert("t", **words)


def test_a_forgotten_value_is_named() -> None:
    with pytest.raises(UsageError, match="expected values for account, amount, not for account"):
        UPSERT.parameters(1, account="a")


@pytest.mark.parametrize("touched", [-1, "SELECT", "BEGIN", ""])
def test_a_count_that_the_driver_did_not_give_is_no_success(touched: int | str) -> None:
    with pytest.raises(UsageError, match="how many rows"):
        UPSERT.check(touched)
