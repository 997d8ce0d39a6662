"""`message = { … }`: jobs that are sent by a message broker, and `[intake.NAME]`."""

from __future__ import annotations

from fencepost.app import Fencepost
from fencepost.app.message import message_parameters, message_route
from fencepost.executors.external import ExternalExecutor
from fencepost.manifest.table import Table
from fencepost.model.job import Parameter
from fencepost.model.message import Route

ROUTE_KEYS = ("destination", "reply", "start_within", "ahead_max", "body")
INTAKE_KEYS = ("source", "job", "key", "group")
OTHER_WORK = ("command", "environment", "http", "external")


def read_route(name: str, table: Table) -> Route | None:
    """How the job's runs are sent; None where they are not."""
    if "message" not in table:
        return None
    for word in OTHER_WORK:
        if word in table:
            table.refuse(word, "stands beside message; a job does one thing, so leave one of them out")
    inner = table.table("message")
    inner.only(*ROUTE_KEYS)
    with table.blaming("message"):
        return message_route(
            name,
            inner.text("destination"),
            inner.text("reply") or "none",
            inner.length("start_within"),
            inner.whole("ahead_max"),
            inner.text("body"),
        )


def read_message_work(table: Table, route: Route) -> tuple[ExternalExecutor, tuple[Parameter, ...]]:
    """What the job takes. A processor does it."""
    with table.blaming("parameters"):
        return ExternalExecutor(), message_parameters(table.name, route, table.text_table("parameters"))


def add_intake(app: Fencepost, table: Table) -> None:
    """Messages that become runs of a job of this file."""
    table.only(*INTAKE_KEYS)
    for key in ("source", "job"):
        if key not in table:
            table.refuse(key, 'is missing; an intake needs source = "…" and job = "…"')
    with table.blaming():
        app.add_intake(
            table.text("source") or "",
            table.text("job") or "",
            key=table.text("key"),
            group=table.text("group"),
        )
