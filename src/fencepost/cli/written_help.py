"""The help of each command as `make docs` wrote it. To show it loads neither command nor operation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

WRITTEN = Path(__file__).with_name("help.json")


class WrittenCommand(click.Command):
    """A command that can only show its help. It is laid out anew, for the width of the terminal."""

    def __init__(self, usage: Sequence[str], text: str, options: Sequence[tuple[str, str]]) -> None:
        super().__init__(None, help=text)
        self._usage = list(usage)
        self._options = [(left, right) for left, right in options]

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """As they were written."""
        return self._usage

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """As they were written."""
        with formatter.section("Options"):
            formatter.write_dl(self._options)


def written_help(path: str, **settings: Any) -> str | None:
    """The help of the command behind `fencepost`, such as `schedules list`; None where there is none."""
    found = json.loads(WRITTEN.read_text("utf-8")).get(path)
    if found is None:
        return None
    command = WrittenCommand(found["usage"], found["text"], found["options"])
    return command.get_help(click.Context(command, info_name=f"fencepost {path}", **settings))


def parts_of(command: click.Command, context: click.Context) -> dict[str, Any]:
    """What of a command's help has to be written."""
    options = (one for one in command.get_params(context) if isinstance(one, click.Option))
    records = (one.get_help_record(context) for one in options)
    return {
        "usage": command.collect_usage_pieces(context),
        "text": command.help or "",
        "options": [one for one in records if one is not None],
    }
