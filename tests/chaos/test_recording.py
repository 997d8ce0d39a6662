"""The recorder of a real ledger leaves nothing out, invents nothing, and tells a heartbeat from a change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import apsw
import asyncpg
import pytest

from fencepost import Every, Fencepost, Run
from fencepost.model.run import RunState
from tests.chaos import effects, recording
from tests.chaos.recording import PostgresSource, Source, SqliteSource, read_history
from tests.chaos.sinks import DurableLines
from tests.history.model import History
from tests.history.verdict import judge

RUN_S = 0.5
TICKS = 1
HIDDEN = "UPDATE {0}runs SET reason = 'nobody saw this' WHERE state = 'succeeded'"
SEEN = "UPDATE {0}runs SET error = 'somebody saw this' WHERE state = 'succeeded'"
TRIGGER = "SELECT sql FROM sqlite_master WHERE name = 'chaos_update'"


def make_app(store: str, sink: DurableLines) -> Fencepost:
    app = Fencepost(store, heartbeat_every_s=0.1, heartbeat_timeout_s=5, plan_every_s=1)

    @app.job(schedule=Every("1s"), overlap="allow")
    async def tick(run: Run) -> None:
        await asyncio.sleep(RUN_S)
        effects.do(run, sink)

    @app.job()
    async def order(run: Run) -> None:
        effects.do(run, sink)

    return app


class Recorded:
    """A ledger with the recorder on it."""

    def __init__(self, store: str, source: Source, folder: Path) -> None:
        self.store = store
        self.source = source
        self.sink = DurableLines(folder / "effects")
        self.app = make_app(store, self.sink)

    async def run(self) -> History:
        """Some ticks and an order, to their ends."""
        async with self.app, self.app.running():
            key = await self.app.enqueue("order", key="one")
            async with asyncio.timeout(60):
                while len(self.sink.lines()) < TICKS + 1:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
        history = await self.read()
        history.acknowledged.append(key)
        return history

    async def read(self) -> History:
        history = await read_history(self.source, self.app.settings)
        history.effects.extend(effects.read(self.sink.lines()))
        history.ended_at = history.quiet_since = max(change.at for change in history.changes)
        return history

    async def meddle(self) -> None:
        """Two changes by somebody who can: one past the triggers, and one that they see."""
        raise NotImplementedError


class OnSqlite(Recorded):
    """In a file."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"sqlite:///{path}", SqliteSource(path), path.parent)
        self._path = path

    async def meddle(self) -> None:
        with closing(apsw.Connection(str(self._path))) as connection:
            trigger = connection.execute(TRIGGER).get
            connection.execute("DROP TRIGGER chaos_update")
            connection.execute(HIDDEN.format(""))
            connection.execute(str(trigger))
            connection.execute(SEEN.format(""))


class OnPostgres(Recorded):
    """On a server."""

    async def meddle(self) -> None:
        connection = await asyncpg.connect(self.store)
        await connection.execute("ALTER TABLE fencepost.runs DISABLE TRIGGER note_update")
        await connection.execute(HIDDEN.format("fencepost."))
        await connection.execute("ALTER TABLE fencepost.runs ENABLE TRIGGER note_update")
        await connection.execute(SEEN.format("fencepost."))
        await connection.close()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def recorded(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Recorded]:
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
        await recording.install_postgres(url)
        yield OnPostgres(url, PostgresSource(url), tmp_path)
        return
    path = tmp_path / "ledger.db"
    async with Fencepost(f"sqlite:///{path}") as app:
        await app.open()
    recording.install_sqlite(path)
    yield OnSqlite(path)


async def test_a_run_is_seen_from_its_writing_to_its_end(recorded: Recorded) -> None:
    history = await recorded.run()
    first = min(effect.key for effect in history.effects if effect.key.startswith("tick"))
    states = [change.run.state for change in history.changes if change.run.run_key == first]
    assert states == [RunState.PLANNED, RunState.RUNNING, RunState.SUCCEEDED]
    (order,) = [
        change for change in history.changes if change.run.run_key == "order#one" and not change.before
    ]
    assert order.run.schedule_id is None
    assert history.jobs.keys() == {"tick", "order"}
    assert history.versions.keys() == {"tick"}


async def test_heartbeats_are_pulses_and_no_changes(recorded: Recorded) -> None:
    history = await recorded.run()
    beaten = {pulse.key for pulse in history.pulses}
    for key in {effect.key for effect in history.effects if effect.key.startswith("tick")}:
        assert key in beaten
        assert sum(pulse.key == key for pulse in history.pulses) > 2, "its start and its heartbeats"
        assert sum(change.run.run_key == key for change in history.changes) == 3


async def test_leaders_and_their_plans_are_seen(recorded: Recorded) -> None:
    history = await recorded.run()
    assert history.registrations
    assert {write.epoch for write in history.plan_writes} <= {one.epoch for one in history.registrations}
    assert all(write.accepted for write in history.plan_writes)


async def test_the_checkers_have_something_to_look_at_and_find_nothing(recorded: Recorded) -> None:
    history = await recorded.run()
    ended = [change.run.fire_time for change in history.changes if change.run.state is RunState.SUCCEEDED]
    history.through = min(ended)
    verdict = judge(history)
    assert not verdict.violations, verdict
    assert set(verdict.silent) == {"leases", "messages", "reports"}
    assert not verdict.idle


async def test_a_change_that_went_past_the_triggers_shows(recorded: Recorded) -> None:
    await recorded.run()
    await recorded.meddle()
    verdict = judge(await recorded.read())
    assert any("behind the recorder's back" in str(one) for one in verdict.violations), verdict
