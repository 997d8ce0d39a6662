"""The application that a Django project names in its settings, on the database that the project has."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import close_old_connections, connections

from fencepost.app import Fencepost
from fencepost.config import DEFAULT_STORE
from fencepost.contrib.addresses import FOR_BOTH_DRIVERS
from fencepost.model.variables import PREFIX
from fencepost.stores.sqlite.opening import SCHEME

SETTING = "FENCEPOST"
WORDS = ("APP", "DATABASE", "STORE")


@cache
def application() -> Fencepost:
    """The application, imported once and told where the ledger is."""
    app = _imported(target())
    _settle_store(app)
    app.surround_threads(fresh_connections)
    return app


def target() -> str:
    """module:name of the application."""
    given = _words().get("APP")
    if not isinstance(given, str) or not all(given.partition(":")):
        raise ImproperlyConfigured(f'{SETTING}["APP"]: expected module:name, as in "project.jobs:app"')
    return given


def alias() -> str:
    """Which of DATABASES the ledger is in."""
    return str(_words().get("DATABASE", "default"))


@contextmanager
def fresh_connections() -> Iterator[None]:
    """What Django does around a request, around a plain job: connections that are too old or broken are
    closed, so that the next one gets a new one."""
    close_old_connections()
    try:
        yield
    finally:
        close_old_connections()


def store_url(database: Mapping[str, Any]) -> str:
    """The ledger's URL in one of DATABASES that is PostgreSQL; it holds the password."""
    options = database.get("OPTIONS") or {}
    name = database.get("NAME") or options.get("dbname")
    if not name or options.get("service"):
        raise ImproperlyConfigured(
            f'{SETTING}: the database has no name of its own in DATABASES; say {SETTING}["STORE"]'
        )
    user, password = (quote(str(database.get(word) or ""), safe="") for word in ("USER", "PASSWORD"))
    known = {word: str(options[word]) for word in FOR_BOTH_DRIVERS if word in options}
    place, query = _place(str(database.get("HOST") or ""), str(database.get("PORT") or ""), bool(user))
    credentials = f"{user}{':' + password if password else ''}@" if user else ""
    asked = urlencode({**query, **known})
    return f"postgresql://{credentials}{place}/{quote(str(name), safe='')}{'?' + asked if asked else ''}"


def ledger_file(app: Fencepost) -> Path | None:
    """The file that the ledger is in; None where it is on a server."""
    url = app.settings.store
    return Path(url.removeprefix(SCHEME)).resolve() if url.startswith(SCHEME) else None


def is_ledger(app: Fencepost, connection: Any) -> bool:
    """Whether that connection of Django opens the file that the ledger is in."""
    return connection.vendor == "sqlite" and Path(str(connection.settings_dict["NAME"])).resolve() == (
        ledger_file(app)
    )


def _place(host: str, port: str, has_user: bool) -> tuple[str, dict[str, str]]:
    """Host and port in a URL, or what stands for them: a folder of sockets is named in the query."""
    if host.startswith("/"):
        return "", {"host": host, **({"port": port} if port else {})}
    if not host and not has_user:
        host = "localhost"
    shown = f"[{host}]" if ":" in host else host
    return f"{shown}:{port}" if port else shown, {}


def _settle_store(app: Fencepost) -> None:
    url = _words().get("STORE")
    is_open_to_us = app.settings.store == DEFAULT_STORE and f"{PREFIX}STORE" not in os.environ
    if url is None and is_open_to_us and connections[alias()].vendor == "postgresql":
        url = store_url(connections[alias()].settings_dict)
    if url is not None and url != app.settings.store:
        app.configure(store=str(url))


def _imported(target: str) -> Fencepost:
    module, _, name = target.partition(":")
    try:
        found = getattr(import_module(module), name, None)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise ImproperlyConfigured(f'{SETTING}["APP"] = "{target}": no module {error.name}') from None
    if not isinstance(found, Fencepost):
        raise ImproperlyConfigured(f'{SETTING}["APP"] = "{target}": {name} is no Fencepost application')
    return found


def _words() -> Mapping[str, Any]:
    words = getattr(settings, SETTING, None)
    if not isinstance(words, Mapping):
        raise ImproperlyConfigured(f'settings: expected {SETTING} = {{"APP": "project.jobs:app"}}')
    for word in words:
        if word not in WORDS:
            raise ImproperlyConfigured(f"{SETTING}: unknown word {word!r}; known: {', '.join(WORDS)}")
    return words
