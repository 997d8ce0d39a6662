"""The nouns of the command line, by which their verbs are found; `fencepost NOUN --help` loads no more."""

from __future__ import annotations

import click

from fencepost.cli.groups import Noun


@click.group(cls=Noun, module="backfill")
def backfills() -> None:
    """Look at backfills, watch them and cancel them.

    \b
    Example:
      fencepost backfills list
    """


@click.group(cls=Noun, module="calendars")
def calendars() -> None:
    """Look at business calendars and change them.

    \b
    Example:
      fencepost calendars set de --region DE-BY --years 2026-2030 --holiday 2026-12-24
    """


@click.group(cls=Noun, module="dead")
def dead() -> None:
    """Look at dead runs, and send them on their way again.

    \b
    Example:
      fencepost dead list --job send_invoices --since 2d
    """


@click.group(cls=Noun, module="gate")
def gate() -> None:
    """Look at closed catch-up gates, and decide what becomes of what they hold.

    A gate closes when too many late ticks wait or too many of them fail, and never opens by itself.

    \b
    Example:
      fencepost gate list
    """


@click.group("import", cls=Noun, module="import_")
def import_group() -> None:
    """Bring schedules over from another scheduler.

    The result goes to stdout; what was left out and what to look at is told on stderr. Nothing is run, and no
    store is touched.

    \b
    Example:
      fencepost import crontab /etc/crontab --out fencepost.toml
      fencepost import apscheduler jobs.json --out schedules.py
    """


@click.group(cls=Noun, module="jobs")
def jobs() -> None:
    """Look at the jobs that are registered in the store.

    \b
    Example:
      fencepost jobs list --queue mail
    """


@click.group(cls=Noun, module="notify")
def notify() -> None:
    """Look at notification targets, change them and test them.

    \b
    Example:
      fencepost notify set ops --kind email --to ops@example.org --event dead
      fencepost notify test ops
    """


@click.group(cls=Noun, module="queues")
def queues() -> None:
    """Look at queues, pause them, and let them go on.

    \b
    Example:
      fencepost queues list
    """


@click.group(cls=Noun, module="runs")
def runs() -> None:
    """Look at runs, and change what becomes of them.

    \b
    Example:
      fencepost runs list --schedule invoices --since 2d
    """


@click.group(cls=Noun, module="schedules", homes={"apply": "applying:apply"})
def schedules() -> None:
    """Look at schedules and change them.

    \b
    Example:
      fencepost schedules add hourly-eu --job report --every 1h --payload '{"region": "eu"}'
    """


@click.group(cls=Noun, module="token")
def token() -> None:
    """Make, list, rotate and revoke tokens, and make sign-in links.

    A token is shown once, when it is made; the store keeps only a digest of it. --namespace '*' makes one
    that is good in all namespaces.

    \b
    Example:
      fencepost token create ci --role operator --expires 90d
      fencepost token list
    """
