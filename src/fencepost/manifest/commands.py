"""The words of a command in `[jobs.NAME]`."""

from __future__ import annotations

import json
import shlex

from fencepost.executors.command import AllowList, CommandExecutor
from fencepost.executors.command.spec import read_command
from fencepost.executors.secrets import Secrets
from fencepost.manifest.table import Table

COMMAND_KEYS = ("command", "environment", "pass_environment", "pass_secrets", "limits", "cwd", "umask")


def read_command_work(
    table: Table, allowed: AllowList | None = None, secrets: Secrets | None = None
) -> CommandExecutor:
    """The way to do a command."""
    argv = _argv(table)
    around = {
        "environment": table.text_table("environment"),
        "pass_environment": table.texts("pass_environment") or (),
        "pass_secrets": table.text_table("pass_secrets"),
        "limits": {word: table.table("limits").raw(word) for word in table.table("limits")},
        "cwd": table.text("cwd"),
        "umask": table.text("umask"),
    }
    with table.blaming():
        return CommandExecutor(read_command(argv, **around), allowed=allowed, secrets=secrets)


def _argv(table: Table) -> list[str]:
    command = table.raw("command")
    if isinstance(command, str):
        table.refuse("command", f"is a text, and no shell reads it; write: command = {_as_list(command)}")
    argv = table.texts("command")
    if argv is None:
        table.refuse("command", 'is missing; write for example: command = ["/usr/local/bin/backup", "--all"]')
    return argv


def _as_list(command: str) -> str:
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    return json.dumps(words, ensure_ascii=False)
