"""Two hundred streams of a real server on a real PostgreSQL: they cost what one does, all of them hear, and
none of them is in the others' way."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from fencepost.web.live.run_logs import CHUNKS_MAX
from tests.cli.calls import called, called_json
from tests.servers.fixtures import started
from tests.servers.postgres import PostgresServer
from tests.web.live.connection_limit import (
    PRELOADED,
    Ear,
    Statistics,
    Stream,
    connection_limit,
    deaf,
    ears_of,
    statistics,
    until,
)
from tests.web.serving import Server

pytestmark = [pytest.mark.proof, pytest.mark.postgres, pytest.mark.timeout(300)]

STREAMS, TOKENS = 200, 10
HOMES = ("default", "shop")
ROLES = ("viewer", "operator", "admin")
SELDOM = {
    "FENCEPOST_REAP_EVERY_S": "600",
    "FENCEPOST_GAUGES_EVERY_S": "600",
    "FENCEPOST_HEARTBEAT_EVERY_S": "60",
    "FENCEPOST_HEARTBEAT_TIMEOUT_S": "600",
}
"""What a server asks beside its streams comes seldom, and the run that keeps the house busy is not lost."""
SPAN_S, LOOKS, SETTLED = 6.0, 6, 2
DEAF, CHUNKS, CHUNK_BYTES = 10, 600, 65_536
GROWTH_MIB_MAX = 150
SAME_JOBS = f"""
    INSERT INTO fencepost.jobs (namespace, name, spec, queue, priority, updated_at)
    SELECT '{HOMES[1]}', name, spec, queue, priority, updated_at FROM fencepost.jobs
"""
LONG_LOG = f"""
    INSERT INTO fencepost.run_logs (namespace, run_key, attempt, number, first_line, lines, text, at)
    SELECT 'default', 'count#busy', 1, n, n, 1, repeat('x', {CHUNK_BYTES}), now()
    FROM generate_series(1, {CHUNKS}) AS n
"""


@dataclass(frozen=True)
class House:
    """A server process, its database, and those who may listen."""

    server: Server
    database: PostgresServer
    tokens: tuple[Ear, ...]
    pid: int

    def statistics(self) -> AbstractAsyncContextManager[Statistics]:
        return statistics(self.database.url, self.server.store)

    def connection_limit(self, ears: list[Ear]) -> AbstractAsyncContextManager[list[Stream]]:
        return connection_limit(self.server.port, ears)

    @property
    def everybody(self) -> list[Ear]:
        return ears_of(self.tokens, STREAMS // TOKENS)

    @property
    def watching(self) -> list[Ear]:
        """The same, each with the log of another run."""
        return [ear.watching(f"count#run-{n}", "1.0") for n, ear in enumerate(self.everybody)]

    def token(self, name: str, role: str, namespace: str) -> str:
        arguments = (name, "--role", role, "--namespace", namespace, "--store", self.server.store)
        return called("token", "create", *arguments).strip()

    async def steer(self, verb: str, namespace: str) -> None:
        """Pause or resume the schedule of a namespace."""
        arguments = ("schedules", verb, "hourly", "--namespace", namespace, "--store", self.server.store)
        await asyncio.to_thread(called, *arguments)

    def memory_mib(self) -> float:
        """What the process has of it now."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Something runs there, so that the hub looks every second."""
    with started(lambda: PostgresServer(shared_preload_libraries=PRELOADED)) as database:
        server = Server(database.create_database())
        with server.process(tmp_path_factory.mktemp("house"), **SELDOM) as process:
            made = House(server, database, (), process.pid)
            database.execute(SAME_JOBS, server.store)
            payload = ("--payload", '{"to": 1}')
            for home in HOMES:
                place = ("--namespace", home, "--store", server.store)
                called("schedules", "add", "hourly", "--job", "count", "--every", "1h", *payload, *place)
            server.enqueue("busy")
            assert server.claim("somebody")
            yield House(server, database, tuple(_ears(made)), process.pid)


def _ears(house: House) -> Iterator[Ear]:
    """Tokens of all roles, each good in one namespace or in all of them."""
    for number in range(TOKENS):
        home = HOMES[number % 2]
        where = "*" if number % 5 == 0 else home
        yield Ear(house.token(f"token-{number}", ROLES[number % 3], where), home)


async def test_two_hundred_streams_do_not_cost_more_than_one(house: House) -> None:
    async with house.statistics() as asked:
        nobody = await asked.until_silent(SPAN_S)
        async with house.connection_limit(house.everybody[:1]):
            await asked.while_looked(SETTLED)
            one = await asked.while_looked(LOOKS)
        async with house.connection_limit(house.everybody):
            await asked.while_looked(SETTLED)
            many = await asked.while_looked(LOOKS)
        async with house.connection_limit(house.watching):
            await asked.while_looked(SETTLED)
            watching = await asked.while_looked(LOOKS)
        await asked.until_silent(SPAN_S)
    assert many.looks <= many.seconds + 1, many.shown()
    of_one, of_many = one.beside(nobody), many.beside(nobody)
    per_look_max = 2 * of_one.calls.total() / one.looks + 1
    assert of_many.calls.total() <= per_look_max * many.looks, of_many.shown()
    assert of_many.per_s <= 3, of_many.shown()
    of_watching = watching.beside(nobody)
    assert of_watching.calls.total() <= (per_look_max + 1) * watching.looks, of_watching.shown()


async def test_a_change_reaches_every_stream_of_its_namespace_and_none_twice(house: House) -> None:
    async with house.statistics() as asked, house.connection_limit(house.everybody) as streams:
        for home in HOMES:
            mine = [one for one in streams if one.ear.namespace == home]
            await house.steer("pause", home)
            await until(lambda mine=mine: all(one.names["schedules"] for one in mine))  # type: ignore[misc]
            await asked.while_looked(SETTLED)
            for one in streams:
                told = one in mine or home == HOMES[-1]
                assert one.names["schedules"] == told, (home, one.ear.namespace, one.names)
        assert not any(one.is_over or one.names["resync"] for one in streams)
    for home in HOMES:
        await house.steer("resume", home)


async def test_a_revoked_token_ends_its_streams_and_no_others(house: House) -> None:
    secret = await asyncio.to_thread(house.token, "short-lived", "viewer", "default")
    async with (
        house.statistics() as asked,
        house.connection_limit([Ear(secret, "default")] * 3) as ending,
        house.connection_limit(house.everybody[3:]) as staying,
    ):
        listed = await asyncio.to_thread(called_json, "token", "list", "--store", house.server.store)
        (token_id,) = (one["token_id"] for one in listed if one["name"] == "short-lived")
        await asyncio.to_thread(called, "token", "revoke", token_id, "--store", house.server.store)
        await until(lambda: all(one.is_over for one in ending))
        assert all(one.is_whole for one in ending), "the answer was ended, not only the connection"
        assert not any(one.is_over for one in staying)
        await asked.while_looked(SETTLED)
        assert not any(one.is_over for one in staying)


async def test_readers_who_never_read_do_not_hold_up_the_others_or_fill_the_memory(house: House) -> None:
    """They watch a long log, each from another place, so that nothing of it is shared."""
    house.database.execute(LONG_LOG, house.server.store)
    before_mib = house.memory_mib()
    async with house.statistics() as asked, house.connection_limit(house.everybody[DEAF:]) as streams:
        with ExitStack() as open_still:
            for number in range(DEAF):
                ear = house.tokens[0].watching("count#busy", f"1.{number}")
                open_still.enter_context(closing(deaf(house.server.port, ear)))
            await asked.while_looked(CHUNKS // CHUNKS_MAX + SETTLED)
            grown_mib = house.memory_mib() - before_mib
            await house.steer("pause", "default")
            mine = [one for one in streams if one.ear.namespace == "default"]
            await until(lambda: all(one.names["schedules"] for one in mine))
        assert not any(one.is_over or one.names["resync"] for one in streams)
    await house.steer("resume", "default")
    assert grown_mib < GROWTH_MIB_MAX, grown_mib
