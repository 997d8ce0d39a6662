"""`external = true`: jobs that are done outside of this program."""

from __future__ import annotations

from fencepost.app.external import external_parameters
from fencepost.executors.external import ExternalExecutor
from fencepost.manifest.table import Table
from fencepost.model.job import Parameter

WORK = ("command", "environment", "http", "celery")


def is_external(table: Table) -> bool:
    """Whether the job says so; only then it may list its parameters."""
    external = table.flag("external")
    if "parameters" in table and not external and "message" not in table:
        table.refuse("parameters", "are for external jobs and message jobs; write also: external = true")
    return external


def read_external(table: Table) -> tuple[ExternalExecutor, tuple[Parameter, ...]]:
    """The parameters of an external job. Workers of this program do not carry it out."""
    for word in WORK:
        if word in table:
            table.refuse(word, "stands beside external; a job does one thing, so leave one of them out")
    with table.blaming("parameters"):
        return ExternalExecutor(), external_parameters(table.name, table.text_table("parameters"))
