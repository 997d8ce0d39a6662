"""Commands made of operations: what is asked makes the arguments, the options and the help; a command adds
what it prints, and its examples.

    @command(pause_queue, queues, "fencepost queues pause mail", done=attrgetter("changed"))
    def _paused(found: QueueAnswer) -> str:
        return f"queue {found.queue}: paused"

What a printer answers is printed; with `--json` the document is printed instead of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, TypeAlias

import click
from msgspec import Struct

from fencepost.cli.calling import ALL, call, pages
from fencepost.cli.faults import FINE, NO
from fencepost.cli.options import (
    Command,
    Place,
    asks,
    changes_store,
    json_option,
    tz_option,
)
from fencepost.cli.output import print_json
from fencepost.cli.requests import reads_times, takes
from fencepost.model.dataclasses import dataclass
from fencepost.operations.operation import Operation

LIMIT_MAX = 100_000

Printer: TypeAlias = Callable[..., str | None]


def command(
    operation: Operation[Any, Any, Any],
    group: click.Group | None,
    *examples: str,
    done: Callable[[Any], bool] | None = None,
    zoned: bool = False,
    **terms: Any,
) -> Callable[[Printer], click.Command]:
    """Make a printer the command of an operation, by the terms of a `Making`. The exit code is 1 where what
    was asked for is not `done`; the printer is given the zone of `--tz` where the command is `zoned`."""
    making = Making(operation, group, examples, **terms)

    def make(printer: Printer) -> click.Command:
        def carry_out(place: Place, as_json: bool, request: Struct, tz: str | None = None) -> None:
            found = call(place, operation, request)
            show(found, as_json, printer, *((tz,) if zoned else ()))
            if done is not None:
                click.get_current_context().exit(FINE if done(found) else NO)

        return making.made(carry_out, *([tz_option] if zoned or reads_times(operation.request) else []))

    return make


def listing(
    operation: Operation[Any, Any, Any],
    group: click.Group | None,
    *examples: str,
    none: str,
    limit: int | None = None,
    zoned: bool = False,
    **terms: Any,
) -> Callable[[Printer], click.Command]:
    """Make a printer the command of an operation that lists all there is, or as much as `--limit` says.
    `none` is said where nothing is found."""
    making = Making(operation, group, examples, **terms)
    options = [*([limit_option(limit)] if limit else []), *([tz_option] if zoned else [])]

    def make(printer: Printer) -> click.Command:
        def carry_out(
            place: Place, as_json: bool, request: Struct, tz: str | None = None, limit: int = ALL
        ) -> None:
            show_all(
                pages(place, operation, request, limit), as_json, none, printer, *((tz,) if zoned else ())
            )

        return making.made(carry_out, *options)

    return make


@dataclass(frozen=True)
class Making:
    """What a command is made of, but for what it does."""

    operation: Operation[Any, Any, Any]
    group: click.Group | None
    examples: Sequence[str]
    name: str | None = None
    more: str = ""
    """What the help says beside the prose of the operation."""
    arguments: Sequence[str] = ()
    """The fields that are arguments, beside those of the path."""
    names: Mapping[str, str] = field(default_factory=dict)
    pairs: bool = False

    def made(self, carry_out: Command, *options: Command) -> click.Command:
        """The command, with the options of its request before these, and those of the place behind."""
        arguments = (*self.operation.in_path, *self.arguments)
        request = takes(
            self.operation.request,
            arguments=arguments,
            names=self.names,
            pairs=self.pairs,
        )
        place = changes_store if self.operation.changes else asks
        whole: Command = carry_out
        layers: list[Command] = [json_option, place, *reversed(options), request]
        for one in layers:
            whole = one(whole)
        name = self.name or self.operation.name.rpartition(".")[2]
        made = click.command(name, help=help_of(self.operation.prose, self.more, self.examples))(whole)
        if self.group is not None:
            self.group.add_command(made)
        return made


def help_of(prose: str, more: str, examples: Sequence[str]) -> str:
    """The operation's own prose, what the command adds to it, and how it is called."""
    shown = "\n".join(("\b", "Example:", *(f"  {one}" for one in examples)))
    return "\n\n".join(filter(None, (prose, more, shown)))


def show(found: Any, as_json: bool, printer: Printer, *more: Any) -> None:
    """An answer, as a document or as its printer has it."""
    if as_json:
        print_json(found)
    elif (said := printer(found, *more)) is not None:
        click.echo(said)


def show_all(found: Sequence[Any], as_json: bool, none: str, printer: Printer, *more: Any) -> None:
    """The same of a list, and what is said of an empty one."""
    if as_json or found:
        show(found, as_json, printer, *more)
    else:
        click.echo(none, err=True)


def limit_option(default: int) -> Command:
    """How many to list."""
    return click.option(
        "--limit", type=click.IntRange(1, LIMIT_MAX), default=default, show_default=True, help="How many."
    )
