"""Options that several commands share, and the way from them to an open store."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click

if TYPE_CHECKING:
    from fencepost.config import Settings
    from fencepost.services.control import Control

T = TypeVar("T")
Command: TypeAlias = Callable[..., Any]

LEVELS = ("debug", "info", "warning", "error")

store_option = click.option(
    "--store",
    metavar="URL",
    help="Where the ledger is: sqlite:///file.db or postgresql://user@host/database. "
    "FENCEPOST_STORE says it for good; without either it is sqlite:///fencepost.db.",
)
leases_option = click.option(
    "--leases",
    metavar="URL",
    help="Where leases live: etcd://host:2379, redis://host, mongodb://host/?replicaSet=rs0 or "
    "kubernetes://namespace; FENCEPOST_LEASES says it for good. Without either, or as '', in the store.",
)
namespace_option = click.option("--namespace", metavar="NAME", help="The tenant; `default` unless given.")
json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
tz_option = click.option("--tz", metavar="ZONE", help="Show and read times in this zone, not in your own.")


@dataclass(frozen=True)
class Place:
    """The store, the lease store and the namespace that a command was pointed at."""

    store: str | None
    namespace: str | None
    reason: str | None = None
    """Why something is changed, in the caller's own words."""
    leases: str | None = None

    def settings(self) -> Settings:
        """Settings with the environment behind what was given."""
        from fencepost.config import settings_from

        given = {"store": self.store, "leases": self.leases, "namespace": self.namespace}
        return settings_from(overrides=given)


def in_store(command: Command) -> Command:
    """Give a command `--store` and `--namespace`, handed over as one `place`."""

    @store_option
    @namespace_option
    @functools.wraps(command)
    def with_place(*args: Any, store: str | None, namespace: str | None, **options: Any) -> Any:
        return command(*args, place=Place(store, namespace), **options)

    return with_place


def in_stores(command: Command) -> Command:
    """As `in_store`, for a command that looks at leases or holds some: `--leases` comes with the place."""

    @in_store
    @leases_option
    @functools.wraps(command)
    def with_leases(*args: Any, place: Place, leases: str | None, **options: Any) -> Any:
        return command(*args, place=replace(place, leases=leases), **options)

    return with_leases


def changes_store(command: Command) -> Command:
    """As `in_store`, for a command that changes something: `--reason` comes with the place."""

    @in_store
    @click.option("--reason", metavar="TEXT", help="Why, for the log; see: fencepost log.")
    @functools.wraps(command)
    def with_reason(*args: Any, place: Place, reason: str | None, **options: Any) -> Any:
        return command(*args, place=replace(place, reason=reason), **options)

    return with_reason


def logged(command: Command) -> Command:
    """Give a command `--log-level` and `--log-json`, and set logging up before it begins."""

    @click.option(
        "--log-level",
        type=click.Choice(LEVELS, case_sensitive=False),
        default="info",
        show_default=True,
        envvar="FENCEPOST_LOG_LEVEL",
        help="The least weighty lines to write.",
    )
    @click.option("--log-json", is_flag=True, envvar="FENCEPOST_LOG_JSON", help="One JSON object a line.")
    @functools.wraps(command)
    def with_logging(*args: Any, log_level: str, log_json: bool, **options: Any) -> Any:
        from fencepost.telemetry.logs import set_up_logging

        set_up_logging(log_level, log_json)
        return command(*args, **options)

    return with_logging


def ask(place: Place, question: Callable[[Control], Awaitable[T]]) -> T:
    """Open the store, ask one question, close it again. A store that is not there is not made."""
    import asyncio

    return asyncio.run(_ask(place, question))


async def _ask(place: Place, question: Callable[[Control], Awaitable[T]]) -> T:
    from fencepost.cli.authors import this_author
    from fencepost.cli.leases import leases_elsewhere
    from fencepost.services.control import Control
    from fencepost.wiring import open_existing_store

    settings = place.settings()
    store = await open_existing_store(settings)
    try:
        leases = leases_elsewhere(settings, store)
        return await question(Control(store, settings.namespace, this_author(place.reason), leases))
    finally:
        await store.close()
