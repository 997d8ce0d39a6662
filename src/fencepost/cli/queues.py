"""`fencepost queues`: what is in the queues, and which of them are paused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fencepost.cli.faults import FINE, NO
from fencepost.cli.groups import CommandGroup
from fencepost.cli.options import Place, asks, changes_store, json_option
from fencepost.cli.output import print_json, print_table, shown_span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fencepost.operations.shapes.queues import QueueAnswer, QueueShape

LIST_MAX = 10_000
name_argument = click.argument("queue", metavar="NAME")
HEADINGS = ("queue", "ready", "waiting", "running", "oldest", "workers")


@click.group(cls=CommandGroup)
def queues() -> None:
    """Look at queues, pause them, and let them go on.

    \b
    Example:
      fencepost queues list
    """


@queues.command("list")
@asks
@json_option
def list_queues(place: Place, as_json: bool) -> None:
    """List queues: what is due, what waits for the limits of its job, what runs, and how old the oldest is.

    \b
    Example:
      fencepost queues list
      fencepost queues list --json
    """
    from fencepost.cli.calling import pages
    from fencepost.operations.queues import ListQueues, list_queues

    found = pages(place, list_queues, ListQueues(), LIST_MAX)
    if as_json:
        print_json(found)
    elif not found:
        click.echo("no queue has anything in it", err=True)
    else:
        _print(found)


@queues.command()
@name_argument
@changes_store
@json_option
@click.pass_context
def pause(context: click.Context, queue: str, place: Place, as_json: bool) -> None:
    """Start nothing of a queue: no tick, no retry, no run by hand. What runs is let finish.

    Exit 1 where it is paused already.

    \b
    Example:
      fencepost queues pause mail --reason "the relay is down"
    """
    from fencepost.cli.calling import call
    from fencepost.operations.queues import ChangeQueue, pause_queue

    found = call(place, pause_queue, ChangeQueue(queue=queue))
    _answer(context, found, "paused" if found.changed else "was paused already", as_json)


@queues.command()
@name_argument
@changes_store
@json_option
@click.pass_context
def resume(context: click.Context, queue: str, place: Place, as_json: bool) -> None:
    """Let a paused queue go on. Exit 1 where it is not paused.

    \b
    Example:
      fencepost queues resume mail
    """
    from fencepost.cli.calling import call
    from fencepost.operations.queues import ChangeQueue, resume_queue

    found = call(place, resume_queue, ChangeQueue(queue=queue))
    _answer(context, found, "goes on" if found.changed else "was not paused", as_json)


def _answer(context: click.Context, found: QueueAnswer, said: str, as_json: bool) -> None:
    if as_json:
        print_json(found)
    else:
        click.echo(f"queue {found.queue}: {said}")
    context.exit(FINE if found.changed else NO)


def _print(found: Sequence[QueueShape]) -> None:
    """One line a queue; with weights where somebody has set any."""
    weighed = any(one.weight is not None for one in found)
    headings = (*HEADINGS, *(("weight",) if weighed else ()), "")
    print_table(headings, [_row(one, weighed) for one in found])


def _row(line: QueueShape, weighed: bool) -> tuple[object, ...]:
    counts = line.ready, line.waiting, line.running, shown_span(line.oldest_s)
    by = f"paused by {line.paused_by}" if line.paused else ""
    return line.queue, *counts, line.workers, *((line.weight,) if weighed else ()), by
