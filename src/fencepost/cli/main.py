"""`fencepost`: the group of all commands, and the one place where it ends."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import click

from fencepost.cli.audit import audit
from fencepost.cli.backfill import backfill, backfills
from fencepost.cli.calendars import calendars
from fencepost.cli.dead import dead
from fencepost.cli.demo import demo
from fencepost.cli.doctor import doctor
from fencepost.cli.drain import drain
from fencepost.cli.enqueue import enqueue
from fencepost.cli.explain import explain
from fencepost.cli.faults import guarded
from fencepost.cli.freeze import freeze, thaw
from fencepost.cli.gate import gate
from fencepost.cli.import_ import import_group
from fencepost.cli.log import log
from fencepost.cli.migrate import migrate
from fencepost.cli.next import next_times
from fencepost.cli.reshard import reshard
from fencepost.cli.run import run, scheduler, worker
from fencepost.cli.runs import runs
from fencepost.cli.schedules import schedules
from fencepost.cli.status import status
from fencepost.cli.stuck import stuck
from fencepost.cli.why import why

NAME = "fencepost"


class Commands(click.Group):
    """A group whose faults are one line each."""

    def main(self, *args: Any, **options: Any) -> Any:
        """As click's own, with our exit codes."""
        chosen = {**options, "prog_name": NAME, "standalone_mode": False}
        sys.exit(guarded(partial(super().main, *args, **chosen)))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name=NAME, message="%(prog)s %(version)s")
def cli() -> None:
    """A distributed cron in which every tick of every schedule is accounted for, exactly once.

    \b
    Example:
      fencepost demo
      fencepost run shop:app
      fencepost runs list --state dead
    """


COMMANDS = (
    *(run, scheduler, worker, demo, next_times, explain, doctor),
    *(backfill, backfills, dead, freeze, thaw, gate, log),
    *(audit, why),
    *(drain, reshard),
    *(schedules, calendars, runs, enqueue, status, migrate, import_group),
)
for command in COMMANDS:
    cli.add_command(command)
runs.add_command(stuck)


def main() -> None:
    """The entry point of the `fencepost` script."""
    cli.main()
