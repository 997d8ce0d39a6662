"""`manage.py fencepost run`: the whole command line, for the application that the settings name."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

import click
from django.core.management.base import BaseCommand, CommandParser

from fencepost.cli.main import cli
from fencepost.config import Settings
from fencepost.contrib.django.configuration import application, target
from fencepost.contrib.django.shutting import shut_the_ledgers_file

ABOUT_PLACE = ("store", "leases", "namespace")
DJANGOS = ("--settings", "--pythonpath")


class Command(BaseCommand):
    """Django calls it by its module's name."""

    help = (
        "Fencepost's command line for the application in FENCEPOST['APP']: run, worker, scheduler, status, "
        "runs list and all the others; fencepost COMMAND --help says more."
    )
    requires_system_checks: Sequence[str] = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="COMMAND …")

    def handle(self, *args: Any, **options: Any) -> None:
        """Ends the process with the command's exit code."""
        app = application()
        shut_the_ledgers_file(app)
        arguments = list(without_djangos(options["arguments"]))
        cli.main(args=with_target(arguments), default_map=places(cli, app.settings, arguments[:1]))


def with_target(arguments: list[str]) -> list[str]:
    """The arguments with TARGET where the command takes one."""
    command = cli.get_command(click.Context(cli), arguments[0]) if arguments else None
    takes_it = command is not None and any(one.name == "target" for one in command.params)
    return [arguments[0], target(), *arguments[1:]] if takes_it else arguments


def places(group: click.Group, settings: Settings, names: Sequence[str]) -> dict[str, Any]:
    """What each of these commands takes for the store, where nothing else is said: that of the
    application."""
    context = click.Context(group)
    found = {name: group.get_command(context, name) for name in names}
    return {
        name: places(command, settings, command.list_commands(context))
        if isinstance(command, click.Group)
        else {one.name: getattr(settings, one.name) for one in command.params if one.name in ABOUT_PLACE}
        for name, command in found.items()
        if command is not None
    }


def without_djangos(arguments: Sequence[str]) -> Iterator[str]:
    """Django has read its own options already, wherever they stand."""
    words = iter(arguments)
    for word in words:
        if word in DJANGOS:
            next(words, None)
        elif not word.startswith(tuple(f"{one}=" for one in DJANGOS)):
            yield word
