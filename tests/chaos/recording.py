"""The recorder of a real ledger: triggers write down every change of a run as it is made.

What they write commits with the change itself or not at all. A fresh database is prepared once, by `install`;
at the end `read_history` makes a history of it. A row is kept as it was and as it became, so that a change
that went past the triggers shows.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

import apsw
import asyncpg

from fencepost.config import Settings
from fencepost.model.codec import job_from_text
from fencepost.model.run import RunRecord
from fencepost.rules.rows import to_missed_range, to_run_record, to_schedule_version
from fencepost.stores.sqlite.moments import MOMENTS, fetch, from_us
from tests.history.model import Change, History, PlanWrite, Pulse, Registration

PAGE = 20_000
BUSY_MS = 10_000
STATEMENT_S = 6.0
"""A lock is waited for at most five seconds."""
UNSEEN = frozenset({"plans_sent", "reports", "halts", "published", "replies", "handled", "arrived"})
"""What a worker is told, when a plan leaves its node and who asks for a pause is not to be seen from the
ledger; what goes over a broker is not sent here."""

BEATS_ALONE = """
OLD.state = 'running' AND NEW.state = 'running' AND OLD.fence = NEW.fence AND OLD.attempt = NEW.attempt
AND OLD.cancel_requested = NEW.cancel_requested AND coalesce(OLD.progress, '') = coalesce(NEW.progress, '')
"""
"""A change of a run that is no more than a heartbeat."""

POSTGRES = f"""
CREATE SCHEMA chaos;

CREATE TABLE chaos.changes (
    seq     bigint GENERATED ALWAYS AS IDENTITY (CACHE 1) PRIMARY KEY,
    at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    place   text NOT NULL DEFAULT pg_current_xact_id()::text,
    kind    text NOT NULL,
    old     text,
    content text NOT NULL
);

CREATE FUNCTION chaos.note_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        INSERT INTO chaos.changes (kind, content) VALUES ('pruned', json_strip_nulls(row_to_json(OLD)));
        RETURN OLD;
    ELSIF TG_OP = 'INSERT' THEN
        INSERT INTO chaos.changes (kind, content) VALUES ('run', json_strip_nulls(row_to_json(NEW)));
    ELSIF {BEATS_ALONE} THEN
        INSERT INTO chaos.changes (kind, content) VALUES ('pulse', json_build_object(
            'run_key', NEW.run_key, 'fence', NEW.fence, 'alive_until', NEW.alive_until));
    ELSE
        INSERT INTO chaos.changes (kind, old, content)
        VALUES ('run', json_strip_nulls(row_to_json(OLD)), json_strip_nulls(row_to_json(NEW)));
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION chaos.note_epoch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO chaos.changes (kind, content) VALUES ('epoch', row_to_json(NEW));
    RETURN NEW;
END $$;

CREATE TRIGGER note_insert AFTER INSERT OR DELETE ON fencepost.runs
    FOR EACH ROW EXECUTE FUNCTION chaos.note_run();
CREATE TRIGGER note_update BEFORE UPDATE ON fencepost.runs
    FOR EACH ROW EXECUTE FUNCTION chaos.note_run();
CREATE TRIGGER note_epoch AFTER INSERT OR UPDATE ON fencepost.epochs
    FOR EACH ROW EXECUTE FUNCTION chaos.note_epoch();
"""
"""Updates are noted before they are made, while the row is locked already: what a batch starts gets its place
one by one, right after its fence, and not all together at the end of the statement."""

SQLITE_TABLE = """
CREATE TABLE chaos_changes (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    at      INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000000 AS INTEGER)),
    place   TEXT NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER)),
    kind    TEXT NOT NULL,
    old     TEXT,
    content TEXT NOT NULL
) STRICT;
"""
SQLITE_TRIGGER = """
CREATE TRIGGER chaos_{name} AFTER {event} ON {table} {when} BEGIN
    INSERT INTO chaos_changes (kind, old, content) VALUES ('{kind}', {old}, {content});
END;
"""
PULSE_COLUMNS = ("run_key", "fence", "alive_until")
CHANGES = """
SELECT seq, at, place, kind, old, content FROM {changes} WHERE seq > {after} ORDER BY seq LIMIT {page}
"""
SHARDS = "SELECT schedule_id, shard FROM {0}schedules"
VERSIONS = "SELECT * FROM {0}schedule_versions ORDER BY schedule_id, version"
RANGES = "SELECT * FROM {0}missed_ranges"
JOBS = "SELECT name, spec FROM {0}jobs"


class Source(Protocol):
    """A database that was recorded."""

    async def rows(self, sql: str) -> Sequence[Mapping[str, Any]]:
        """Rows of the ledger; `{0}` stands for the schema."""
        ...

    async def changes_after(self, seq: int) -> Sequence[Mapping[str, Any]]:
        """The next page of what was noted."""
        ...

    def parsed(self, text: str) -> Mapping[str, Any]:
        """A row as it was noted."""
        ...


class PostgresSource:
    """On connections of its own."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def rows(self, sql: str) -> Sequence[Mapping[str, Any]]:
        connection = await asyncpg.connect(self._url)
        try:
            return [dict(row) for row in await connection.fetch(sql.format("fencepost."))]
        finally:
            await connection.close()

    async def changes_after(self, seq: int) -> Sequence[Mapping[str, Any]]:
        return await self.rows(CHANGES.format(changes="chaos.changes", after=seq, page=PAGE))

    def parsed(self, text: str) -> Mapping[str, Any]:
        return _Noted(text, datetime.fromisoformat)


class SqliteSource:
    """By a reader of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def rows(self, sql: str) -> Sequence[Mapping[str, Any]]:
        with closing(apsw.Connection(str(self._path))) as connection:
            connection.set_busy_timeout(BUSY_MS)
            return fetch(connection.execute(sql.format("")))

    async def changes_after(self, seq: int) -> Sequence[Mapping[str, Any]]:
        return await self.rows(CHANGES.format(changes="chaos_changes", after=seq, page=PAGE))

    def parsed(self, text: str) -> Mapping[str, Any]:
        return _Noted(text, from_us)


async def install_postgres(url: str) -> None:
    """Have every change noted, from now on."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(POSTGRES)
    finally:
        await connection.close()


def install_sqlite(path: Path) -> None:
    """Have every change noted, from now on."""
    with closing(apsw.Connection(str(path))) as connection:
        connection.set_busy_timeout(BUSY_MS)
        runs = [str(row[1]) for row in connection.execute("PRAGMA table_info(runs)")]
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(SQLITE_TABLE)
        for trigger in _sqlite_triggers(runs):
            connection.execute(trigger)
        connection.execute("COMMIT")


async def read_history(source: Source, settings: Settings) -> History:
    """What the ledger itself tells; the effects, the faults and what was acknowledged are known elsewhere."""
    history = History(settings, unseen=UNSEEN, statement_s=STATEMENT_S)
    versions: dict[Any, list[Any]] = {}
    for row in await source.rows(VERSIONS):
        versions.setdefault(row["schedule_id"], []).append(to_schedule_version(row))
    history.versions = versions
    history.ranges = [to_missed_range(row) for row in await source.rows(RANGES)]
    history.jobs = {row["name"]: job_from_text(row["spec"]) for row in await source.rows(JOBS)}
    shards = {row["schedule_id"]: row["shard"] for row in await source.rows(SHARDS)}
    reader = _Reader(history, source, shards)
    async for row in _all_changes(source):
        reader.read(row)
    return history


async def _all_changes(source: Source) -> AsyncIterator[Mapping[str, Any]]:
    after = 0
    while page := await source.changes_after(after):
        after = page[-1]["seq"]
        for row in page:
            yield row


class _Reader:
    """Puts each note where it belongs, in the order in which they were made."""

    def __init__(self, history: History, source: Source, shards: Mapping[str, int]) -> None:
        self._history = history
        self._source = source
        self._shards = shards
        self._last: dict[str, tuple[str, RunRecord]] = {}
        self._planned: set[tuple[int, int, str]] = set()

    def read(self, row: Mapping[str, Any]) -> None:
        at, text = row["at"], row["content"]
        match row["kind"]:
            case "run":
                self._change(row)
            case "pulse":
                noted = self._source.parsed(text)
                self._history.pulses.append(Pulse(at, noted["run_key"], noted["fence"], noted["alive_until"]))
            case "pruned":
                self._history.changes.append(Change(at, self._record(text), None))
            case "epoch":
                noted = self._source.parsed(text)
                place = noted["shard"], noted["epoch"], noted["holder"] or ""
                self._history.registrations.append(Registration(at, *place))
            case kind:
                raise AssertionError(kind)

    def _change(self, row: Mapping[str, Any]) -> None:
        """A change was not made before the times that it wrote down; one of the clocks is coarse."""
        after = self._record(row["content"])
        before = None if row["old"] is None else self._before(row["old"], after.run_key)
        told = [one for one in (after.started_at, after.finished_at) if one is not None]
        change = Change(max([row["at"], *told]), before, after)
        self._history.changes.append(change)
        self._last[after.run_key] = row["content"], after
        if change.starts and after.alive_until is not None:
            self._history.pulses.append(Pulse(change.at, after.run_key, after.fence, after.alive_until))
        if before is None and after.schedule_id is not None and after.epoch > 0:
            self._plan(row, self._shards[after.schedule_id], after.epoch)

    def _plan(self, row: Mapping[str, Any], shard: int, epoch: int) -> None:
        """Runs that were written together are one write."""
        write = shard, epoch, row["place"]
        if write not in self._planned:
            self._planned.add(write)
            self._history.plan_writes.append(PlanWrite(row["at"], shard, epoch, accepted=True))

    def _before(self, text: str, key: str) -> RunRecord:
        """Most often what the change before it left, word for word."""
        known, record = self._last.get(key, ("", None))
        return record if record is not None and known == text else self._record(text)

    def _record(self, text: str) -> RunRecord:
        return to_run_record(self._source.parsed(text))


class _Noted(dict[str, Any]):
    """A row without its empty columns."""

    def __init__(self, text: str, moment: Callable[[Any], datetime]) -> None:
        super().__init__(json.loads(text))
        for name in self.keys() & MOMENTS:
            if self[name] is not None:
                self[name] = moment(self[name])

    def __missing__(self, column: str) -> None:
        return None


def _sqlite_triggers(runs: Sequence[str]) -> Iterator[str]:
    beats = f"({BEATS_ALONE})"
    epoch = _object("NEW", ("shard", "epoch", "holder"))
    was, becomes = _object("OLD", runs), _object("NEW", runs)
    for name, event, table, when, kind, old, content in (
        ("insert", "INSERT", "runs", "", "run", "NULL", becomes),
        ("update", "UPDATE", "runs", f"WHEN NOT {beats}", "run", was, becomes),
        ("pulse", "UPDATE", "runs", f"WHEN {beats}", "pulse", "NULL", _object("NEW", PULSE_COLUMNS)),
        ("prune", "DELETE", "runs", "", "pruned", "NULL", was),
        ("epoch", "INSERT", "epochs", "", "epoch", "NULL", epoch),
        ("epoch_again", "UPDATE", "epochs", "", "epoch", "NULL", epoch),
    ):
        yield SQLITE_TRIGGER.format(
            name=name, event=event, table=table, when=when, kind=kind, old=old, content=content
        )


def _object(side: str, columns: Sequence[str]) -> str:
    pairs = ", ".join(f"'{column}', {side}.{column}" for column in columns)
    return f"json_object({pairs})"
