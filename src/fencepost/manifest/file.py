"""From a file to an application."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from fencepost.app import Fencepost
from fencepost.config import settings_from
from fencepost.errors import InvalidSettings, UsageError
from fencepost.manifest.calendars import read_calendar
from fencepost.manifest.jobs import read_job
from fencepost.manifest.message import add_intake
from fencepost.manifest.notify import add_notify
from fencepost.manifest.reading import read_toml
from fencepost.manifest.schedules import add_schedule
from fencepost.manifest.table import Table
from fencepost.model.identifiers import checked_name

TABLES = ("settings", "secrets", "jobs", "intake", "calendars", "schedules", "notify")
PLACE = ("store", "leases", "broker", "namespace")


def load_file(path: str | Path, environment: Mapping[str, str] | None = None) -> Fencepost:
    """The application that a manifest describes; the environment wins over its settings."""
    file = str(path)
    top = Table(file, "", read_toml(Path(path)))
    top.only(*PLACE, *TABLES)
    app = Fencepost(settings=settings_from(environment, file=_settings(top)))
    _register_secrets(app, top.table("secrets"))
    for name, table in top.tables("jobs"):
        spec, executor = read_job(name, table, app.allowed_commands, app.secrets)
        with top.blaming():
            app.add_job(spec, executor)
    with top.blaming():
        app.check_chains()
    for _, table in top.tables("intake"):
        add_intake(app, table)
    calendars = {name: read_calendar(name, table) for name, table in top.tables("calendars")}
    for calendar in calendars.values():
        app.add_calendar(calendar)
    for name, table in top.tables("schedules"):
        add_schedule(app, name, table, calendars)
    for name, table in top.tables("notify"):
        add_notify(app, name, table)
    return app


def _register_secrets(app: Fencepost, table: Table) -> None:
    """Names and where each secret is kept. What stands there instead may be the secret itself: it is not
    repeated."""
    for name in table:
        source = table.raw(name)
        with table.blaming():
            app.secret(name, source if isinstance(source, str) else "")


def _settings(top: Table) -> dict[str, Any]:
    """The file's settings, which must make sense by themselves."""
    top.checked("namespace", partial(checked_name, "namespace"))
    given = {key: top.text(key) for key in PLACE if key in top}
    table = top.table("settings")
    for key in PLACE:
        if key in table:
            table.refuse(key, "stands at the top of the file, not in a table")
    values: dict[str, Any] = {**given, **{key: table.raw(key) for key in table}}
    try:
        settings_from({}, file=values)
    except UsageError as error:
        raise InvalidSettings(f"{top.file}: [settings] {error}") from None
    return values
