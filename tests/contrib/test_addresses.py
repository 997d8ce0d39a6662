"""The ledger's URL out of what other frameworks call a database."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import create_async_engine

from fencepost import Fencepost
from fencepost.contrib import sqlalchemy
from fencepost.contrib.django.configuration import store_url
from fencepost.errors import InvalidSettings
from fencepost.stores.postgres.address import parse_address

NAMED = {"NAME": "shop", "USER": "anna", "PASSWORD": "p@ss/w:rd", "HOST": "db", "PORT": "5433"}


@pytest.mark.parametrize(
    ("database", "url"),
    [
        (NAMED, "postgresql://anna:p%40ss%2Fw%3Ard@db:5433/shop"),
        ({"NAME": "shop", "USER": "anna"}, "postgresql://anna@/shop"),
        ({"NAME": "shop"}, "postgresql://localhost/shop"),
        ({"NAME": "a b", "HOST": "::1", "PORT": 5432}, "postgresql://[::1]:5432/a%20b"),
        (
            {"NAME": "shop", "HOST": "/run/postgresql", "PORT": "5433"},
            "postgresql:///shop?host=%2Frun%2Fpostgresql&port=5433",
        ),
        (
            {"NAME": "shop", "HOST": "db", "OPTIONS": {"sslmode": "verify-full", "pool": True}},
            "postgresql://db/shop?sslmode=verify-full",
        ),
    ],
)
def test_djangos_database_is_where_the_ledger_is(database: dict[str, Any], url: str) -> None:
    assert store_url(database) == url
    assert "p%40ss" not in parse_address(url).shown


def test_a_database_that_only_a_service_file_knows_is_refused() -> None:
    from django.core.exceptions import ImproperlyConfigured

    for database in ({"OPTIONS": {"service": "shop"}}, {"NAME": ""}):
        with pytest.raises(ImproperlyConfigured, match="STORE"):
            store_url(database)


@pytest.mark.parametrize("driver", ["psycopg", "asyncpg"])
def test_sqlalchemys_engine_is_where_the_ledger_is(driver: str) -> None:
    made = create_async_engine if driver == "asyncpg" else create_engine
    engine = made(f"postgresql+{driver}://anna:p%40ss@db:5433/shop")
    assert sqlalchemy.store_url(engine) == "postgresql://anna:p%40ss@db:5433/shop"


def test_a_file_of_sqlalchemys_is_a_file_of_the_ledgers() -> None:
    assert sqlalchemy.store_url(make_url("sqlite:////srv/shop.db")) == "sqlite:////srv/shop.db"


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "mysql://anna:secret@db/shop"])
def test_where_no_ledger_can_be_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(InvalidSettings) as refusal:
        sqlalchemy.store_url(make_url(url))
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("ssl=disable", "sslmode=disable"),
        ("ssl=require&sslmode=verify-full", "sslmode=verify-full"),
        ("prepared_statement_cache_size=0", "statement_cache_size=0"),
        ("prepared_statement_cache_size=500", ""),
        ("async_fallback=true&connect_timeout=5&application_name=shop", ""),
        ("sslmode=verify-ca&sslrootcert=%2Fetc%2Fca.pem", "sslmode=verify-ca&sslrootcert=%2Fetc%2Fca.pem"),
    ],
)
def test_of_sqlalchemys_query_only_what_the_ledgers_driver_knows_is_kept(query: str, kept: str) -> None:
    url = sqlalchemy.store_url(make_url(f"postgresql+asyncpg://anna:p%40ss@db:5433/shop?{query}"))
    assert url == "postgresql://anna:p%40ss@db:5433/shop" + (f"?{kept}" if kept else "")
    assert parse_address(url).pooled is ("cache_size=0" in query)


@pytest.mark.parametrize(
    ("query", "dsn"),
    [
        ("host=/run/postgresql&port=5433", "host=%2Frun%2Fpostgresql&port=5433"),
        ("host=a:5432&host=b:5433", "host=a%3A5432%2Cb%3A5433"),
    ],
)
def test_a_place_that_sqlalchemy_has_in_the_query_stays_there(query: str, dsn: str) -> None:
    address = parse_address(sqlalchemy.store_url(make_url(f"postgresql+psycopg://anna@/shop?{query}")))
    assert address.dsn == f"postgresql://anna@/shop?{dsn}"


@pytest.mark.postgres
async def test_a_ledger_opens_by_the_url_that_asyncpg_is_given_behind_a_pooler(postgres_url: str) -> None:
    url = make_url(postgres_url).set(drivername="postgresql+asyncpg")
    for_sqlalchemy = url.update_query_dict({"ssl": "disable", "prepared_statement_cache_size": "0"})
    async with Fencepost(sqlalchemy.store_url(for_sqlalchemy)) as app:
        assert (await (await app.open()).now()).tzinfo is not None
