"""Which moves of runs a database sees: a trigger on its table of runs writes each down, whoever makes it."""

from __future__ import annotations

from pathlib import Path

import apsw

from fencepost.core.lifecycle import REPLAYS, TRANSITIONS, may_move
from fencepost.model.run import RunState
from tests.conformance.clocked import ClockHarness
from tests.conformance.on_postgres import PostgresHarness, open_postgres
from tests.conformance.on_sqlite import open_sqlite

Move = tuple[RunState, RunState]

TABLE = {*TRANSITIONS, *REPLAYS}
ALLOWED = {
    (one, other) for one in RunState for other in RunState if may_move(one, other) or (one, other) in REPLAYS
}
NEVER_WRITTEN = {(RunState.PLANNED, RunState.READY)}
"""A planned run becomes ready by time alone."""

IN_SQLITE = """
CREATE TABLE moves (before TEXT NOT NULL, after TEXT NOT NULL);
CREATE TRIGGER moved AFTER UPDATE OF state ON runs WHEN OLD.state <> NEW.state
BEGIN INSERT INTO moves VALUES (OLD.state, NEW.state); END;
"""
IN_POSTGRES = """
CREATE TABLE IF NOT EXISTS public.moves (before text NOT NULL, after text NOT NULL);
TRUNCATE public.moves;
CREATE OR REPLACE FUNCTION public.note_move() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN INSERT INTO public.moves VALUES (OLD.state, NEW.state); RETURN NULL; END $$;
CREATE OR REPLACE TRIGGER moved AFTER UPDATE ON fencepost.runs
FOR EACH ROW WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION public.note_move();
"""
READ = "SELECT DISTINCT before, after FROM moves"


class WatchedSqlite(ClockHarness):
    """A store in a file whose moves are written down."""

    path: Path

    async def moves(self) -> set[Move]:
        """All so far."""
        connection = apsw.Connection(str(self.path))
        found = {(RunState(before), RunState(after)) for before, after in connection.execute(READ)}
        connection.close()
        return found

    async def close(self) -> None:
        """No life ends without a look at what it did."""
        moves = await self.moves()
        await super().close()
        check(moves)


class WatchedPostgres(PostgresHarness):
    """A store in PostgreSQL whose moves are written down."""

    async def moves(self) -> set[Move]:
        """All so far."""
        rows = await self.connection.fetch(READ)
        return {(RunState(row["before"]), RunState(row["after"])) for row in rows}

    async def close(self) -> None:
        """No life ends without a look at what it did."""
        moves = await self.moves()
        await super().close()
        check(moves)


Watched = WatchedSqlite | WatchedPostgres


def check(moves: set[Move]) -> None:
    """Whether the table has them all."""
    assert moves <= ALLOWED, sorted(moves - ALLOWED)


async def watch_sqlite(path: Path) -> WatchedSqlite:
    """A new file, watched."""
    opened = await open_sqlite(path)
    connection = apsw.Connection(str(path))
    connection.execute(IN_SQLITE)
    connection.close()
    watched = WatchedSqlite(opened.store, opened.clock, opened.shards)
    watched.path = path
    return watched


async def watch_postgres(url: str) -> WatchedPostgres:
    """A database of the test's own, emptied and watched."""
    opened = await open_postgres(url)
    await opened.connection.execute(IN_POSTGRES)
    return WatchedPostgres(opened.store, opened.connection, opened.now, opened.shards)
