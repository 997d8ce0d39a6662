"""The ledger's rows in a MongoDB transaction of the caller: nothing is committed here, and nothing is run
again. Where another transaction is in the way the driver's error says so by its label, and the caller begins
the transaction again, as `session.with_transaction` does."""

from __future__ import annotations

from datetime import UTC
from typing import Any, TypeVar

from pymongo.errors import OperationFailure, PyMongoError

from fencepost.drivers.mongodb.opening import behind_router
from fencepost.errors import UnfitConnection
from fencepost.model.clocks import StoreTime
from fencepost.model.run import Ticket
from fencepost.model.tables import META, RUNS
from fencepost.ports.rows import Rule
from fencepost.stores.borrowed.kinds import Kind, Lent
from fencepost.stores.mongodb.documents import filter_of
from fencepost.stores.mongodb.given import GivenFences
from fencepost.stores.mongodb.migrations import SCHEMA
from fencepost.stores.mongodb.rows import MAJORITY
from fencepost.stores.mongodb.sharding import catch_up, shard_time
from fencepost.stores.mongodb.transaction import MongoTransaction, is_conflict

T = TypeVar("T")
WRITE_CONFLICT = 112


class BorrowedRows:
    """See `ports.rows`."""

    def __init__(self, lent: Lent, database: str | None, *, is_sharded: bool | None = None) -> None:
        self._session = lent.connection
        self.name = database or self._session.client.get_default_database("fencepost").name
        client = Blocking(self._session.client) if lent.kind is Kind.PYMONGO else self._session.client
        self.database = client.get_database(self.name, write_concern=MAJORITY)
        self._admin = client.get_database("admin")
        self._is_sharded = is_sharded
        self.given = GivenFences()

    @property
    def is_sharded(self) -> bool:
        """As the driver knows it after its first call."""
        if self._is_sharded is None:
            self._is_sharded = behind_router(self._session.client)
        return self._is_sharded

    async def catch_up(self, ticket: Ticket) -> None:
        """Before the first look in a transaction: have it see the claim, which another client made."""
        if self.is_sharded:
            await catch_up(self.database, RUNS.at(ticket.namespace, ticket.run_key))

    async def read(self, rule: Rule[T]) -> T:
        return await self.write(rule)

    async def write(self, rule: Rule[T]) -> T:
        transaction = MongoTransaction(self, self._session, set())
        try:
            result = await rule(transaction)
            await transaction.flush_all()
        except PyMongoError as error:
            if is_conflict(error) and not error.has_error_label("TransientTransactionError"):
                again = {"errorLabels": ["TransientTransactionError"]}
                raise OperationFailure(str(error), WRITE_CONFLICT, again) from error
            raise
        return result

    async def server_time(self) -> StoreTime:
        if self.is_sharded:
            return await shard_time(self.database)
        hello = await self._admin.command("hello")
        return StoreTime(hello["localTime"].replace(tzinfo=UTC))


async def check_ledger(lent: Lent, database: str | None) -> None:
    """Refuse a session in whose database there is no ledger. This is asked outside of its transaction, which
    sees what is there when it is first used."""
    rows = BorrowedRows(lent, database)
    found = await rows.database[META.name].find_one(filter_of(META.at("schema")))
    if found is None or found["value"] != str(SCHEMA):
        name = rows.name
        raise UnfitConnection(f"connection: the database {name} of this session is no ledger of this release")


class Blocking:
    """A driver that blocks, called as one that is awaited: each call is over when it returns."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def get_database(self, name: str, **terms: Any) -> Blocking:
        return Blocking(self._inner.get_database(name, **terms))

    def __getitem__(self, name: str) -> Blocking:
        return Blocking(self._inner[name])

    def find(self, *args: Any, **kwargs: Any) -> Blocking:
        return Blocking(self._inner.find(*args, **kwargs))

    async def aggregate(self, *args: Any, **kwargs: Any) -> Blocking:
        return Blocking(self._inner.aggregate(*args, **kwargs))

    def __getattr__(self, name: str) -> Any:
        async def called(*args: Any, **kwargs: Any) -> Any:
            return getattr(self._inner, name)(*args, **kwargs)

        return called
