"""`kill -9` at each named point of a run's way, for every way to do the work.

For each kind of work one worker per case is forked, works on that case alone and dies at its point. Then one
that does not die comes and does what is left. What the world saw and what the ledger says is held against
`crash_points.expected`.
"""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest
from pymongo import MongoClient

from fencepost.stores.postgres import migrate
from tests.chaos.fleet import eventually
from tests.chaos.ledgers import Ledger, PostgresLedger, SqliteLedger
from tests.chaos.sinks import DurableLines
from tests.effects import crash_program
from tests.effects.crash_jobs import EFFECTS, STARTS, TABLES
from tests.effects.crash_points import IN_TRANSACTIONS, Delivery, Kind, Outcome, Point, expected, points_of
from tests.effects.crash_program import case_name, make_app, serve_web, work, work_outside
from tests.effects.forks import Fork
from tests.effects.receiver import Receiver
from tests.servers.ports import free_port
from tests.servers.postgres import execute
from tests.servers.process import Address

AT_ONCE = 4
DIES_WITHIN_S = 60.0
DONE_WITHIN_S = 120.0
ENDED = ("succeeded", "dead")
RUNS = "SELECT job, state FROM {0}runs"
ABANDONED_S, DEFAULT_ABANDONED_S = 10, 60
"""How long MongoDB keeps the transaction of a worker that was killed."""
ROWS = "SELECT run_key FROM sent UNION ALL SELECT run_key FROM latest"

CASES = [
    *(
        pytest.param(
            kind,
            "sqlite",
            id=f"{kind.name.lower()}-on-sqlite",
            marks=[] if kind is Kind.LOOP else pytest.mark.proof,
        )
        for kind in Kind
        if kind is not Kind.BLOCKING_TRANSACTION
    ),
    *(
        pytest.param(
            kind,
            "postgres",
            id=f"{kind.name.lower()}-on-postgres",
            marks=[pytest.mark.postgres, pytest.mark.proof],
        )
        for kind in (Kind.TRANSACTION, Kind.OWN_TRANSACTION)
    ),
    *(
        pytest.param(
            kind,
            "mongodb",
            id=f"{kind.name.lower()}-on-mongodb",
            marks=[pytest.mark.mongodb, pytest.mark.proof],
        )
        for kind in IN_TRANSACTIONS
    ),
]


class Scene:
    """One kind of work on one store."""

    def __init__(self, kind: Kind, url: str, folder: Path, exits: ExitStack) -> None:
        self.kind = kind
        self.url = url
        self.folder = folder
        self.exits = exits
        self.receiver = exits.enter_context(closing(Receiver(folder))).url if kind is Kind.HTTP else ""
        self.cases = {
            case_name(kind, delivery, point): (point, delivery)
            for delivery in Delivery
            for point in points_of(kind)
        }

    async def enqueue(self) -> None:
        """One run of each case."""
        async with make_app(self.kind, self.url, self.receiver) as app:
            store = await app.open()
            await store.jobs.register(app.settings.namespace, [job.spec for job in app.jobs.values()])
            for name in self.cases:
                await app.enqueue(name, key="1")
        app.retire()

    async def kill_one_by_one(self) -> None:
        """A few at a time; each dies by its own point and by nothing else."""
        address = await self._web(mortal=True)
        waiting = list(self.cases)
        while waiting:
            doomed, waiting = waiting[:AT_ONCE], waiting[AT_ONCE:]
            forks = [self._fork(name, address, [name], name) for name in doomed]
            for fork in forks:
                code = await asyncio.to_thread(fork.ended, DIES_WITHIN_S)
                assert code == -signal.SIGKILL, f"{fork.name} ended with {code}\n{fork.log[-3_000:]}"

    async def do_the_rest(self) -> None:
        """Until every run has ended."""
        survivor = self._fork("survivor", await self._web(mortal=False), list(self.cases))

        async def all_ended() -> bool:
            assert survivor.alive, survivor.log[-3_000:]
            return all(state in ENDED for state in (await self.states()).values())

        await eventually(all_ended, "every run has ended", DONE_WITHIN_S, lambda: survivor.log[-3_000:])
        survivor.discard()

    async def observed(self) -> dict[str, Outcome]:
        """What came of each case."""
        starts = Counter(DurableLines(self.folder / STARTS).lines())
        effects = Counter(DurableLines(self.folder / EFFECTS).lines())
        if self.kind in (*IN_TRANSACTIONS, Kind.GUARDED):
            effects = Counter(row["run_key"] for row in await self._rows(ROWS))
        return {
            job: Outcome(starts[f"{job}#1"], effects[f"{job}#1"], state)
            for job, state in (await self.states()).items()
        }

    async def states(self) -> dict[str, str]:
        return {row["job"]: row["state"] for row in await self._rows(RUNS)}

    async def _rows(self, sql: str) -> Any:
        if self.url.startswith("mongodb"):
            with MongoClient[dict[str, Any]](self.url) as client:
                return list(client.get_default_database()["runs" if sql == RUNS else "sent"].find())
        ledger: Ledger
        if self.url.startswith("sqlite"):
            ledger = SqliteLedger(Path(self.url.removeprefix("sqlite:///")))
        else:
            ledger = await PostgresLedger.open(self.url)
        try:
            return await ledger.query(sql)
        finally:
            await ledger.close()

    def _fork(self, name: str, address: str, jobs: list[str], doomed: str = "") -> Fork:
        if self.kind is Kind.OUTSIDE:
            fork = Fork(name, self.folder, work_outside, address, str(self.folder), jobs, doomed)
        else:
            words = self.kind, self.url, str(self.folder), self.receiver, doomed
            fork = Fork(name, self.folder, work, *words)
        self.exits.callback(fork.discard)
        return fork

    async def _web(self, *, mortal: bool) -> str:
        """Where workers outside find the ledger; nowhere, for any other kind."""
        if self.kind is not Kind.OUTSIDE:
            return ""
        address = f"127.0.0.1:{free_port()}"
        web = Fork(f"web-{mortal}", self.folder, serve_web, self.url, str(self.folder), address, mortal)
        self.exits.callback(web.discard)

        async def answers() -> bool:
            assert web.alive, web.log
            try:
                _, writer = await asyncio.open_connection(*address.split(":"))
            except OSError:
                return False
            writer.close()
            return True

        await eventually(answers, "the web is up", DONE_WITHIN_S, lambda: web.log)
        return address


@pytest.fixture
def mongo_url(mongo_server: Address) -> Iterator[str]:
    """A database of its own on a server that soon forgets who was killed."""
    limit = "transactionLifetimeLimitSeconds"
    with MongoClient[dict[str, Any]](mongo_server.url) as client:
        client.admin.command({"setParameter": 1, limit: ABANDONED_S})
        yield mongo_server.url.replace("/?", f"/crashes_{token_hex(6)}?")
        client.admin.command({"setParameter": 1, limit: DEFAULT_ABANDONED_S})


@pytest.fixture
def store_url(place: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    if place == "mongodb":
        return str(request.getfixturevalue("mongo_url"))
    if place == "postgres":
        return str(request.getfixturevalue("empty_postgres_url"))
    return f"sqlite:///{tmp_path / 'ledger.db'}"


@pytest.fixture
def scene(kind: Kind, store_url: str, tmp_path: Path) -> Iterator[Scene]:
    with ExitStack() as exits:
        yield Scene(kind, store_url, tmp_path, exits)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("kind", "place"), CASES)
async def test_no_crash_leaves_another_outcome_than_the_table_says(kind: Kind, scene: Scene) -> None:
    """A worker is killed, and its heartbeat has to time out before another takes the run."""
    await prepare(scene.url)
    await scene.enqueue()
    await scene.kill_one_by_one()
    await scene.do_the_rest()
    found = await scene.observed()
    assert found == {name: expected(kind, *case) for name, case in scene.cases.items()}


def test_every_point_is_somebodys() -> None:
    assert {point for kind in Kind for point in points_of(kind)} == set(Point)
    assert set(crash_program.FUNCTIONS) | {Kind.COMMAND, Kind.HTTP, Kind.OUTSIDE} == set(Kind)


async def prepare(url: str) -> None:
    """The ledger, and the user's table in its database."""
    if url.startswith("sqlite"):
        import apsw

        from fencepost.stores import sqlite

        await sqlite.migrate(url, shards=1)
        with closing(apsw.Connection(url.removeprefix("sqlite:///"))) as maker:
            for table in TABLES:
                maker.execute(table)
    elif url.startswith("mongodb"):
        from fencepost.stores import mongodb

        await mongodb.migrate(url, shards=1)
        with MongoClient[dict[str, Any]](url) as client:
            client.get_default_database().create_collection("sent")
    else:
        await migrate(url, shards=1)
        for table in TABLES:
            await execute(url, table)
