"""Settings in, a store, a lease store or a broker out. What runs is made of them in `assembly`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from fencepost.clock import Clock, SystemClock
from fencepost.config import Settings
from fencepost.errors import InvalidSettings, MissingExtra, RetryableFailure, UnfitConnection
from fencepost.model.lease import LeaseRecord
from fencepost.model.migration_progress import Tell, say_nothing
from fencepost.model.quoting import quoted
from fencepost.ports.broker import Broker
from fencepost.ports.leases import LeaseStore
from fencepost.ports.store import Store
from fencepost.telemetry import traces
from fencepost.telemetry.secret_source import Source

SCHEMES = (
    "sqlite:///path.db, postgresql://user@host/database or mongodb://host1,host2/database?replicaSet=name"
)
LEASE_SCHEMES = {
    "etcd": "etcd",
    "etcds": "etcd",
    "redis": "redis",
    "rediss": "redis",
    "redis+sentinel": "redis",
    "rediss+sentinel": "redis",
    "mongodb": "mongodb",
    "mongodb+srv": "mongodb",
    "kubernetes": "kubernetes",
}
LEASE_EXAMPLES = "etcd://host:2379, redis://host, mongodb://host/?replicaSet=rs0 or kubernetes://namespace"
LEASE_ENTRY_POINTS = "fencepost.leases"
BROKER_SCHEMES = {
    "amqp": "rabbitmq",
    "amqps": "rabbitmq",
    "nats": "nats",
    "tls": "nats",
    "kafka": "kafka",
    "redis": "redis",
    "rediss": "redis",
}
BROKER_EXAMPLES = "amqp://host, nats://host, kafka://host or redis://host"
BROKER_ENTRY_POINTS = "fencepost.brokers"
BROKER_DRIVERS = {"rabbitmq": "aio_pika", "nats": "nats", "kafka": "aiokafka", "redis": "redis"}
LEASE_DRIVERS = {"etcd": "aiohttp", "redis": "redis", "mongodb": "pymongo", "kubernetes": "aiohttp"}


async def open_store(settings: Settings, clock: Clock | None = None, *, unfinished: bool = False) -> Store:
    """The store that the URL names, with its schema checked. One that a copy was begun into, and not
    finished, is opened only to copy into it again (`unfinished`)."""
    clock = clock or SystemClock()
    traces.switch_on()
    match _scheme(settings.store):
        case "sqlite":
            from fencepost.stores import sqlite

            return await sqlite.open_store(
                settings.store, clock=clock, shards=settings.shards, unfinished=unfinished
            )
        case "mongodb":
            from fencepost.stores import mongodb

            return await mongodb.open_store(settings.store, unfinished=unfinished)
        case _:
            _require_asyncpg()
            from fencepost.stores import postgres

            return await postgres.open_store(
                settings.store,
                clock=clock,
                pool_max=settings.pool_max,
                transactions_max=settings.transactions_max,
                unfinished=unfinished,
            )


async def borrow_store(connection: object, settings: Settings) -> Store:
    """The store behind the caller's own connection, for writes in the caller's transaction."""
    from fencepost.stores.borrowed import borrow

    database = None
    if _scheme(settings.store) == "mongodb":
        from fencepost.drivers.mongodb.address import read_url

        database = read_url(settings.store, "store").database
    # What a transaction has no use for, such as leases and wake-ups, is not there.
    return cast("Store", await borrow(connection, database=database))


def is_awaited(connection: object) -> bool:
    """Whether the connection's calls have to be awaited."""
    from fencepost.stores.borrowed import recognition

    return recognition.is_awaited(connection)


def check_blocking(connection: object) -> None:
    """Refuse a connection whose calls have to be awaited."""
    if is_awaited(connection):
        raise UnfitConnection("connection: its driver is awaited; use: await app.enqueue(…, connection=…)")


async def open_leases(settings: Settings, store: Store, clock: Clock | None = None) -> LeaseStore:
    """Where the leases live: at the URL, or in the store itself."""
    if not settings.leases:
        return store.leases
    opened: LeaseStore = await _lease_adapter(settings.leases)(settings.leases, clock=clock or SystemClock())
    return opened


def leases_elsewhere(settings: Settings, store: Store) -> LeasesOnDemand | None:
    """Where leases live, if that is not the store itself."""
    return LeasesOnDemand(settings, store) if settings.leases else None


class LeasesOnDemand:
    """Opened when they are read: most readers never do, and one that is away is met where that is minded."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings = settings
        self._store = store

    async def read(self) -> Sequence[LeaseRecord]:
        """The leases that are held. A URL that cannot be is refused, as at the start of a node."""
        leases = await open_leases(self._settings, self._store)
        try:
            return await leases.read()
        finally:
            await leases.close()


def _lease_adapter(url: str) -> Any:
    """The `open_leases` of the URL's scheme: one of ours, or one that is installed beside us."""
    scheme, separator, _ = url.partition("://")
    if scheme in LEASE_SCHEMES and separator:
        kind = LEASE_SCHEMES[scheme]
        if find_spec(LEASE_DRIVERS[kind]) is None:
            raise MissingExtra(f'leases on {kind} need the extra: pip install "fencepost[{kind}]"')
        return import_module(f"fencepost.leases.{kind}").open_leases
    for found in entry_points(group=LEASE_ENTRY_POINTS, name=scheme):
        return found.load()
    expected = f"{LEASE_EXAMPLES}, or nothing for the store's own"
    raise InvalidSettings(f"leases {quoted(_shown_scheme(url))}: expected {expected}")


async def open_broker(settings: Settings) -> Broker:
    """The message broker at the URL. It connects when it is first used."""
    opened: Broker = await _broker_adapter(settings.broker)(settings.broker)
    return opened


def _broker_adapter(url: str) -> Any:
    """The `open_broker` of the URL's scheme: one of ours, or one that is installed beside us."""
    scheme, separator, _ = url.partition("://")
    if scheme in BROKER_SCHEMES and separator:
        kind = BROKER_SCHEMES[scheme]
        if find_spec(BROKER_DRIVERS[kind]) is None:
            raise MissingExtra(f'the broker {kind} needs the extra: pip install "fencepost[{kind}]"')
        return import_module(f"fencepost.brokers.{kind}").open_broker
    for found in entry_points(group=BROKER_ENTRY_POINTS, name=scheme):
        return found.load()
    raise InvalidSettings(f"broker {quoted(_shown_scheme(url))}: expected {BROKER_EXAMPLES}")


def _shown_scheme(url: str) -> str:
    """The part of an unknown URL that may be shown: behind a scheme, also a mistyped one, there may be a
    password."""
    scheme, separator, _ = url.partition("://")
    return f"{scheme}://…" if separator else f"{url.partition(':')[0]}…" if ":" in url else url


async def open_existing_store(settings: Settings, clock: Clock | None = None) -> Store:
    """As `open_store`, but a file that is not there is refused instead of made."""
    if _scheme(settings.store) == "sqlite":
        from fencepost.stores.sqlite.opening import path_of

        if not _exists(path_of(settings.store)):
            raise InvalidSettings(
                f"no store at {path_of(settings.store)}; "
                f"start one with: fencepost run TARGET --store {settings.store}"
            )
    return await open_store(settings, clock)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def shown_store(settings: Settings) -> str:
    """The store's URL without its password."""
    if _scheme(settings.store) == "sqlite":
        return settings.store
    if _scheme(settings.store) == "postgresql":
        _require_asyncpg()
    from fencepost.model.address import mask

    return mask(settings.store)


async def migrate(settings: Settings, *, restored: bool = False, tell: Tell = say_nothing) -> list[str]:
    """Bring the store's schema up to date; returns what was applied. One that was `restored`, and is to be
    lifted, is opened although it is marked. A store on which that takes long tells how far it is."""
    match _scheme(settings.store):
        case "sqlite":
            from fencepost.stores import sqlite

            return await sqlite.migrate(settings.store, shards=settings.shards, restored=restored)
        case "mongodb":
            from fencepost.stores import mongodb

            return await mongodb.migrate(settings.store, shards=settings.shards)
        case _:
            _require_asyncpg()
            from fencepost.stores import postgres

            return await postgres.migrate(settings.store, shards=settings.shards, tell=tell)


def _scheme(url: str) -> str:
    scheme = url.partition("://")[0]
    if scheme in ("postgresql", "postgres"):
        return "postgresql"
    if scheme in ("mongodb", "mongodb+srv"):
        return "mongodb"
    if scheme == "sqlite":
        return scheme
    raise InvalidSettings(f"store {quoted(_shown_scheme(url))}: expected {SCHEMES}")


def _require_asyncpg() -> None:
    if find_spec("asyncpg") is None:
        raise MissingExtra('PostgreSQL needs the extra: pip install "fencepost[postgres]"')


def require_metrics() -> None:
    """Refuse, in one line, where what renders metrics is not installed."""
    if find_spec("prometheus_client") is None:
        raise MissingExtra('metrics need the extra: pip install "fencepost[metrics]"')


def require_web() -> None:
    """Refuse, in one line, where what serves the web is not installed."""
    if any(find_spec(one) is None for one in ("litestar", "uvicorn")):
        raise MissingExtra('the web needs the extra: pip install "fencepost[web]"')


def require_oidc(settings: Settings) -> None:
    """Refuse, in one line, where people are to sign in at a provider and something is missing for that."""
    if not settings.oidc_issuer:
        return
    if any(find_spec(one) is None for one in ("aiohttp", "jwt")):
        raise MissingExtra('sign-in at a provider needs the extra: pip install "fencepost[oidc]"')
    if settings.oidc_client_secret:
        try:
            Source(settings.oidc_client_secret).read("oidc_client_secret")
        except RetryableFailure as error:
            raise InvalidSettings(f"{error}; set it, or leave oidc_client_secret out") from None
