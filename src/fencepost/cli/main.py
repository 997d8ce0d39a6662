"""`fencepost`: the group of all commands, and the one place where it ends."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import click

from fencepost.cli.faults import FINE, check_words, guarded
from fencepost.cli.groups import LazyGroup, written_summaries
from fencepost.cli.written_help import written_help
from fencepost.version import VERSION

NAME = "fencepost"
HELP_OPTIONS = ["-h", "--help"]
HELP_WORDS = [[one] for one in HELP_OPTIONS]
WIDTH: dict[str, Any] = {"max_content_width": 100}
NOUNS = ("backfills", "calendars", "dead", "gate", "jobs", "notify", "queues", "runs", "schedules", "token")
VERBS = (
    *("audit", "backfill", "copy", "demo", "doctor", "drain", "enqueue", "explain", "init", "log", "migrate"),
    *("processor", "report", "reshard", "simulate", "status", "web", "whoami", "why"),
)
COMMANDS = {
    **{name: f"nouns:{name}" for name in NOUNS},
    **{name: f"{name}:{name}" for name in VERBS},
    **{name: f"run:{name}" for name in ("run", "scheduler", "worker")},
    **{name: f"freeze:{name}" for name in ("freeze", "thaw")},
    "next": "next:next_times",
    "leases": "lease_history:leases",
    "restore-check": "restore_check:restore_check",
    "import": "nouns:import_group",
}
"""In which module a command is, and its name there. A module is loaded when its command is asked for: each
brings what it works with."""


class Commands(LazyGroup):
    """All commands, whose faults are one line each."""

    def summaries(self, ctx: click.Context) -> dict[str, str]:
        """As `make docs` wrote them."""
        return written_summaries()

    def main(self, *args: Any, **options: Any) -> Any:
        """As click's own, with our exit codes."""
        chosen = {**options, "prog_name": NAME, "standalone_mode": False}
        sys.exit(guarded(partial(self._checked_main, *args, **chosen)))

    def _checked_main(self, args: Sequence[str] | None = None, *more: Any, **options: Any) -> Any:
        words = sys.argv[1:] if args is None else list(args)
        if words[-1:] in HELP_WORDS and (said := written_help(" ".join(words[:-1]), **WIDTH)) is not None:
            click.echo(said)
            return FINE
        check_words(words)
        return super().main(words, *more, **options)


@click.group(
    cls=Commands,
    homes=COMMANDS,
    context_settings={"help_option_names": HELP_OPTIONS, **WIDTH},
)
@click.version_option(VERSION, message="%(prog)s %(version)s")
def cli() -> None:
    """A distributed cron in which every tick of every schedule is accounted for, exactly once.

    \b
    Example:
      fencepost demo
      fencepost run shop:app
      fencepost runs list --state dead
    """


def main() -> None:
    """What the `fencepost` script does."""
    cli.main()
