"""`fencepost queues`: what is in the queues, and which of them are paused."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from fencepost.cli.commands import command, listing
from fencepost.cli.nouns import queues
from fencepost.cli.output import print_table, shown_span
from fencepost.operations.queues import list_queues, pause_queue, resume_queue
from fencepost.operations.responses.queues import QueueChangeResponse, QueueResponse

HEADINGS = ("queue", "ready", "waiting", "running", "oldest", "workers")


@listing(
    list_queues,
    queues,
    "fencepost queues list",
    "fencepost queues list --json",
    none="no queue has anything in it",
)
def _listed(found: Sequence[QueueResponse]) -> None:
    weighed = any(one.weight is not None for one in found)
    headings = (*HEADINGS, *(("weight",) if weighed else ()), "")
    print_table(headings, [_row(one, weighed) for one in found])


@command(
    pause_queue,
    queues,
    'fencepost queues pause mail --reason "the relay is down"',
    more="Exit 1 where it is paused already.",
    done=attrgetter("changed"),
)
def _paused(found: QueueChangeResponse) -> str:
    return f"queue {found.queue}: {'paused' if found.changed else 'was paused already'}"


@command(
    resume_queue,
    queues,
    "fencepost queues resume mail",
    more="Exit 1 where it is not paused.",
    done=attrgetter("changed"),
)
def _resumed(found: QueueChangeResponse) -> str:
    return f"queue {found.queue}: {'goes on' if found.changed else 'was not paused'}"


def _row(line: QueueResponse, weighed: bool) -> tuple[object, ...]:
    counts = line.ready, line.waiting, line.running, shown_span(line.oldest_s)
    by = f"paused by {line.paused_by}" if line.paused else ""
    return line.queue, *counts, line.workers, *((line.weight,) if weighed else ()), by
