"""`fencepost`: the group of all commands, and the one place where it ends."""

from __future__ import annotations

import sys
from collections.abc import Sequence
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
from fencepost.cli.faults import check_words, guarded
from fencepost.cli.freeze import freeze, thaw
from fencepost.cli.gate import gate
from fencepost.cli.import_ import import_group
from fencepost.cli.jobs import jobs
from fencepost.cli.lease_history import leases
from fencepost.cli.log import log
from fencepost.cli.migrate import migrate
from fencepost.cli.next import next_times
from fencepost.cli.queues import queues
from fencepost.cli.reshard import reshard
from fencepost.cli.restore_check import restore_check
from fencepost.cli.run import run, scheduler, worker
from fencepost.cli.run_logs import logs
from fencepost.cli.runs import runs
from fencepost.cli.schedules import schedules
from fencepost.cli.simulate import simulate
from fencepost.cli.status import status
from fencepost.cli.stuck import stuck
from fencepost.cli.token import token
from fencepost.cli.web import web
from fencepost.cli.whoami import whoami
from fencepost.cli.why import why

NAME = "fencepost"


class Commands(click.Group):
    """A group whose faults are one line each."""

    def main(self, *args: Any, **options: Any) -> Any:
        """As click's own, with our exit codes."""
        chosen = {**options, "prog_name": NAME, "standalone_mode": False}
        sys.exit(guarded(partial(self._checked_main, *args, **chosen)))

    def _checked_main(self, args: Sequence[str] | None = None, *more: Any, **options: Any) -> Any:
        words = sys.argv[1:] if args is None else list(args)
        check_words(words)
        return super().main(words, *more, **options)


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
    *(run, scheduler, worker, web, demo, next_times, explain, doctor),
    *(backfill, backfills, dead, freeze, thaw, gate, log),
    *(audit, why, simulate),
    *(drain, reshard, leases, whoami),
    *(schedules, calendars, queues, runs, jobs, enqueue, status, migrate, restore_check, import_group, token),
)
for command in COMMANDS:
    cli.add_command(command)
runs.add_command(stuck)
runs.add_command(logs)


def main() -> None:
    """The entry point of the `fencepost` script."""
    cli.main()
