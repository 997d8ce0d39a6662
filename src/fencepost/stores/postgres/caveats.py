"""What the server is set up not to promise, as our own sessions see it.

A session of ours sets `synchronous_commit` and the isolation for itself, so these are told of only where it
cannot: behind a pooler, which shares its sessions. The others are the whole server's.
"""

from __future__ import annotations

from fencepost.model.caveat import Caveat
from fencepost.stores.postgres.connection import Database
from fencepost.stores.queries import load_queries

QUERIES = load_queries(__package__, "store.sql")
BEHIND_A_POOLER = "ALTER ROLE … SET {} for the role of the store's URL: a pooler lets no session set it"
SERVER_WIDE = "set {} = on in postgresql.conf and reload the server"
FORGETS = "a crash of the database server's host may {}"


async def read_caveats(database: Database) -> list[Caveat]:
    """Those that hold for this connection's server."""
    row = await database.fetch_one(QUERIES["durability"])
    assert row is not None
    found = []
    if row["fsync"] != "on":
        told = FORGETS.format("destroy the ledger")
        found.append(Caveat(f"PostgreSQL runs with fsync=off: {told}", SERVER_WIDE.format("fsync")))
    if row["full_page_writes"] != "on":
        told = FORGETS.format("tear pages of the ledger")
        remedy = SERVER_WIDE.format("full_page_writes")
        found.append(Caveat(f"PostgreSQL runs with full_page_writes=off: {told}", remedy))
    if row["synchronous_commit"] == "off":
        told = FORGETS.format("lose what was acknowledged")
        remedy = BEHIND_A_POOLER.format("synchronous_commit = on")
        found.append(Caveat(f"sessions commit with synchronous_commit=off: {told}", remedy))
    if row["isolation"] != "read committed":
        told = "calls that meet are turned away and made again"
        remedy = BEHIND_A_POOLER.format("default_transaction_isolation = 'read committed'")
        found.append(Caveat(f"statements run at {row['isolation']}: {told}", remedy))
    return found
