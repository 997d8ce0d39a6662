"""The password of a store, or of a lease store, is told to nobody: while all is well, while the server is
away, and where it cannot be had at all.

A real server that asks for a password, real processes, and everything that they write or answer.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from fencepost.config import settings_from
from fencepost.web.application import operations
from tests.cli.processes import SIGTERM, Process, said, started
from tests.marks import in_proof
from tests.servers.ports import free_port
from tests.servers.postgres import PostgresServer
from tests.servers.process import wait_until
from tests.web.attacks.test_markup import addresses
from tests.web.house import TOKEN, Answer
from tests.web.serving import Server
from tests.web.test_roles import place_of

pytestmark = pytest.mark.postgres

CANARY = "CaNaRy7f3e"
PASSWORD = f"{CANARY}@91:{CANARY}/x"
ASKED_FOR = "host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
APP = """
from fencepost import Every, Fencepost

app = Fencepost()

@app.job(schedule=Every("1s"))
async def beat() -> str:
    return "done"
"""
NAMED = {
    "run_key": "beat#1",
    "job": "beat",
    "schedule_id": "beat",
    "name": "c",
    "backfill_id": "1",
    "fire_time": "2026-03-01T00:00:00Z",
}
PATIENCE_S = 90


@pytest.fixture(scope="module")
def guarded() -> Iterator[PostgresServer]:
    """A server that lets nobody but its owner in without a password."""
    server = PostgresServer()
    try:
        (server.folder / "data" / "pg_hba.conf").write_text(ASKED_FOR)
        server.execute(f"CREATE ROLE shop LOGIN CREATEDB PASSWORD '{PASSWORD}'")
        server.execute("CREATE DATABASE shop OWNER shop")
        server.restart()
        yield server
    finally:
        server.close()


def store_of(server: PostgresServer, password: str = PASSWORD, database: str = "shop") -> str:
    return f"postgresql://shop:{quote(password, safe='')}@127.0.0.1:{server.port}/{database}"


def walked(web: Server) -> list[tuple[str, str]]:
    """Every answer to who only reads."""
    api = [place_of(one, NAMED) for one in operations() if one.method == "GET"]
    paths = ["/healthz", "/readyz", "/metrics", *api, *addresses(NAMED)]
    return [(path, told(web.ask("GET", path))) for path in paths]


def told(answer: Answer) -> str:
    return f"{answer.status} {answer.content.decode()} {answer.headers}"


def is_ready(web: Server) -> bool:
    return web.ask("GET", "/readyz", token=None).status == 200


def leaks(heard: list[tuple[str, str]]) -> list[tuple[str, str]]:
    places = [(where, text, text.find(CANARY)) for where, text in heard]
    return [(where, text[max(0, at - 80) : at + 40]) for where, text, at in places if at >= 0]


@pytest.mark.proof
def test_the_password_of_a_store_is_not_told_while_it_comes_and_goes(
    guarded: PostgresServer, tmp_path: Path
) -> None:
    """About 15 s: a real node whose server is restarted, and every page asked for."""
    store = store_of(guarded)
    code, text = said("migrate", "--store", store)
    assert code == 0, text
    (tmp_path / "shop.py").write_text(APP)
    web = Server(store, free_port())
    bind, metrics = f"127.0.0.1:{web.port}", f"127.0.0.1:{free_port()}"
    arguments = (
        "run",
        "shop:app",
        "--bind",
        bind,
        "--metrics",
        metrics,
        "--log-json",
        "--log-level",
        "debug",
    )
    with started(*arguments, folder=tmp_path, FENCEPOST_STORE=store, FENCEPOST_TOKEN=TOKEN) as process:
        process.wait_for('"event": "succeeded"')
        heard = walked(web)
        heard += [(one, said(one, "--store", store)[1]) for one in ("doctor", "status")]
        heard += away(guarded, web, process)
        wait_until(lambda: is_ready(web), lambda: process.said, PATIENCE_S)
        process.wait_for('"event": "succeeded"')
        heard += walked(web)
        process.signal(SIGTERM)
        assert process.ended() == 0
    heard.append(("log", process.said))
    assert leaks(heard) == []
    assert '"url": "postgresql://shop:***@' in process.said


def away(server: PostgresServer, web: Server, process: Process) -> list[tuple[str, str]]:
    """What is told while the server is stopped; it is there again afterwards."""
    server.stop()
    try:
        wait_until(lambda: not is_ready(web), lambda: process.said, PATIENCE_S)
        heard = walked(web)
        ends = [(one, said(one, "--store", web.store)) for one in ("doctor", "status", "migrate")]
    finally:
        server.start()
    assert any(text.startswith("503 ") for _, text in heard)
    assert all(code != 0 for _, (code, _) in ends), ends
    return heard + [(one, text) for one, (_, text) in ends]


REFUSED = {
    "a wrong password": lambda server: store_of(server, f"{PASSWORD}-wrong"),
    "no such database": lambda server: store_of(server, database="nowhere"),
    "nobody there": lambda server: store_of(server).replace(f":{server.port}/", f":{free_port()}/"),
    "a port that is none": lambda server: store_of(server).replace(f":{server.port}/", ":port/"),
    "not escaped": lambda server: f"postgresql://shop:{PASSWORD}@127.0.0.1:{server.port}/shop",
    "an unknown scheme": lambda server: store_of(server).replace("postgresql://", "mysql://"),
    "no scheme": lambda server: store_of(server).removeprefix("postgresql://"),
    "an unknown option": lambda server: f"{store_of(server)}?sslmode=sometimes",
    "in the query": lambda server: f"postgresql://shop@127.0.0.1:{server.port}/no?password={CANARY}",
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_store_that_cannot_be_had_is_refused_without_its_password(
    guarded: PostgresServer, tmp_path: Path, name: str
) -> None:
    (tmp_path / "shop.py").write_text(APP)
    store = REFUSED[name](guarded)
    code, text = said("doctor", "--store", store)
    assert code != 0, text
    target = ("run", "shop:app", "--no-wait", "--log-json", "--log-level", "debug")
    with started(*target, folder=tmp_path, FENCEPOST_STORE=store) as process:
        assert process.ended() != 0
    assert "Traceback" not in process.said
    assert leaks([("doctor", text), ("run", process.said)]) == []
    assert text.strip(), "it says what was wrong"
    assert process.said.strip(), "it says what was wrong"


@pytest.mark.parametrize("scheme", ["redis", *in_proof("etcd", "mongodb")])
def test_a_lease_store_that_cannot_be_had_is_refused_without_its_password(
    tmp_path: Path, scheme: str
) -> None:
    (tmp_path / "shop.py").write_text(APP)
    store = f"sqlite:///{tmp_path / 'store.db'}"
    assert said("migrate", "--store", store)[0] == 0
    password = quote(PASSWORD, safe="")
    leases = f"{scheme}://shop:{password}@127.0.0.1:{free_port()}"
    heard = []
    for url in (
        leases,
        f"{scheme}://shop:{PASSWORD}@127.0.0.1:port",
        f"{leases}/?replicaSet=rs0&tls=perhaps",
    ):
        given = {"FENCEPOST_STORE": store, "FENCEPOST_LEASES": url}
        heard.append((f"doctor {url}", said("doctor", **given)[1]))
        with started("run", "shop:app", "--no-wait", "--log-json", folder=tmp_path, **given) as process:
            assert process.ended() != 0
        heard.append((f"run {url}", process.said))
    assert leaks([(where.partition(" ")[0], text) for where, text in heard]) == []


def test_settings_do_not_show_a_password() -> None:
    url = f"postgresql://shop:{CANARY}@db/shop"
    assert CANARY not in repr(settings_from({}, overrides={"store": url, "leases": url}))


def test_the_password_is_the_one_that_is_asked_for(guarded: PostgresServer) -> None:
    """Or nothing of this proves anything."""
    assert said("migrate", "--store", store_of(guarded))[0] == 0
    bare = f"postgresql://shop@127.0.0.1:{urlsplit(guarded.url).port}/shop"
    code, text = said("status", "--store", bare, HOME=os.devnull)
    assert code != 0
    assert "password" in text
