"""Options that several commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import field, replace
from typing import Any, TypeAlias

import click

from fencepost.config import Settings, settings_from
from fencepost.model.dataclasses import dataclass
from fencepost.telemetry.logs import set_up_logging

Command: TypeAlias = Callable[..., Any]

LEVELS = ("debug", "info", "warning", "error")

store_option = click.option(
    "--store",
    metavar="URL",
    help="Where the ledger is: sqlite:///file.db, postgresql://user@host/database or mongodb://host/name. "
    "FENCEPOST_STORE says it for good; without either it is sqlite:///fencepost.db.",
)
leases_option = click.option(
    "--leases",
    metavar="URL",
    help="Where leases live: etcd://host:2379, redis://host, mongodb://host/?replicaSet=rs0 or "
    "kubernetes://namespace; FENCEPOST_LEASES says it for good. Without either, or as '', in the store.",
)
broker_option = click.option(
    "--broker",
    metavar="URL",
    help="By which message broker runs are sent and messages come: amqp://host, nats://host, kafka://host or "
    "redis://host; FENCEPOST_BROKER says it for good.",
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
    server: str | None = None
    """The address of a server that carries it out; None: this process does."""
    token: str | None = field(default=None, repr=False)

    def settings(self) -> Settings:
        """Settings with the environment behind what was given."""
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


def asks(command: Command) -> Command:
    """As `in_store`, for a command that a server can carry out as well: `--server` and `--token` come with
    the place."""

    @in_store
    @click.option(
        "--server",
        metavar="URL",
        envvar="FENCEPOST_SERVER",
        help="Have this server do it, such as https://cron.example.org, instead of opening a store.",
    )
    @click.option(
        "--token",
        metavar="TOKEN",
        envvar="FENCEPOST_TOKEN",
        help="What to show the server; better in FENCEPOST_TOKEN, where other users do not see it.",
    )
    @functools.wraps(command)
    def with_server(*args: Any, place: Place, server: str | None, token: str | None, **options: Any) -> Any:
        # A store that is named is meant, whatever the environment says.
        there = None if place.store else server or None
        return command(*args, place=replace(place, server=there, token=token), **options)

    return with_server


def in_stores(command: Command) -> Command:
    """As `in_store`, for a command that looks at leases or holds some: `--leases` comes with the place."""

    @in_store
    @leases_option
    @functools.wraps(command)
    def with_leases(*args: Any, place: Place, leases: str | None, **options: Any) -> Any:
        return command(*args, place=replace(place, leases=leases), **options)

    return with_leases


def asks_stores(command: Command) -> Command:
    """As `asks`, for a command that looks at leases: `--leases` comes with the place, unless a server
    looks."""

    @asks
    @leases_option
    @functools.wraps(command)
    def with_leases(*args: Any, place: Place, leases: str | None, **options: Any) -> Any:
        if place.server and leases is not None:
            raise click.UsageError("--leases: a server looks at its own; leave it out, or name a --store")
        return command(*args, place=replace(place, leases=leases), **options)

    return with_leases


def changes_store(command: Command) -> Command:
    """As `asks`, for a command that changes something: `--reason` comes with the place."""

    @asks
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
        set_up_logging(log_level, log_json)
        return command(*args, **options)

    return with_logging
