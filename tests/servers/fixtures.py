"""Servers as fixtures: one a session, and a fresh database a test."""

import os
from collections.abc import Iterator

import pytest

from tests.servers.binaries import ServerMissing
from tests.servers.postgres import PostgresDatabases, PostgresServer


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresDatabases]:
    """The server given by FENCEPOST_TEST_POSTGRES, else a private one."""
    if url := os.environ.get("FENCEPOST_TEST_POSTGRES"):
        shared = PostgresDatabases(url)
        yield shared
        shared.drop_template()
        return
    server = start_or_skip()
    yield server
    server.close()


@pytest.fixture
def postgres_url(postgres_server: PostgresDatabases) -> Iterator[str]:
    """An empty store with its schema."""
    url = postgres_server.create_database()
    yield url
    postgres_server.drop_database(url)


@pytest.fixture
def empty_postgres_url(postgres_server: PostgresDatabases) -> Iterator[str]:
    """A database without a schema."""
    url = postgres_server.create_empty_database()
    yield url
    postgres_server.drop_database(url)


def start_or_skip() -> PostgresServer:
    """A private server; where there is none to be had, CI fails and a person is told."""
    try:
        return PostgresServer()
    except ServerMissing as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(missing))
