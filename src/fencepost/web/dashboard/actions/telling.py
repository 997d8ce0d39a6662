"""What was done, in one sentence, by the name of the operation; and where to look next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from fencepost.operations.operation import Operation
from fencepost.web.dashboard import links
from fencepost.web.dashboard.said import Said

Teller = Callable[[Any, Any], Said]
"""(what was asked, what was answered) → what is said."""


def told(operation: Operation[Any, Any, Any], request: Any, response: Any) -> Said:
    """What is said of it; by default that it is done."""
    teller = TELLERS.get(operation.name)
    if teller is not None:
        return teller(request, response)
    return Said(f"Done: {operation.prose.partition(chr(10))[0].rstrip('.')}.")


def _triggered(request: Any, response: Any) -> Said:
    key = str(getattr(response, "run_key", ""))
    return Said(
        f"{request.schedule_id} was triggered.", href=links.run(key) if key else None, link="See the run"
    )


def _of_schedule(words: str) -> Teller:
    def tell(request: Any, response: Any) -> Said:
        return Said(f"{request.schedule_id}: {words}")

    return tell


def _of_run(words: str) -> Teller:
    def tell(request: Any, response: Any) -> Said:
        return Said(f"{request.run_key} is {getattr(response, 'state', words)} now.")

    return tell


def _replayed(request: Any, response: Any) -> Said:
    done, left = len(response.replayed), len(getattr(response, "left", ()))
    rest = f"; {left} could not be, and stay as they were" if left else ""
    return Said(f"{done} {'run was' if done == 1 else 'runs were'} sent on the way again{rest}.")


def _many(words: str) -> Teller:
    def tell(request: Any, response: Any) -> Said:
        done = sum(one.done for one in response.items)
        left = [one.trouble for one in response.items if not one.done]
        more = " There are more: do it again." if response.more else ""
        first = (
            f" Not: {left[0]}" + (f", and {len(left) - 1} others." if len(left) > 1 else ".") if left else ""
        )
        return Said(f"{done} of {len(response.items)} {words}.{first}{more}", refused=not done)

    return tell


def _enqueued(request: Any, response: Any) -> Said:
    words = "is enqueued" if response.new else "was there already, and stays as it is"
    return Said(f"{response.run_key} {words}.", href=links.run(response.run_key), link="See the run")


def _cancelled_many(request: Any, response: Any) -> Said:
    fates = Counter(one.fate for one in response.items)
    words = ", ".join(f"{number} {fate.replace('_', ' ')}" for fate, number in fates.items())
    return Said(f"{words[:1].upper()}{words[1:]}.")


def _gate(request: Any, response: Any) -> Said:
    return Said(f"The gate of {request.schedule_id} is open; {response.released} of what it held may run.")


def _queue(request: Any, response: Any) -> Said:
    return Said(f"Queue {response.queue} is {'paused' if response.paused else 'not paused any more'}.")


def _node(request: Any, response: Any) -> Said:
    if not response.node.draining:
        return Said(f"{response.node.node_id} plans and works again.")
    undone = f" Meanwhile nobody {' or '.join(response.undone)}." if response.undone else ""
    return Said(f"{response.node.node_id} is being drained.{undone}")


def _freeze(words: str) -> Teller:
    def tell(request: Any, response: Any) -> Said:
        covered = f"; it covers {response.schedules} schedules" if response.schedules else ""
        return Said(f"{'Everything' if request.kind == 'all' else request.value} {words}{covered}.")

    return tell


def _notified(request: Any, response: Any) -> Said:
    return Said(
        f"A test is on its way to {response.name}.", href=links.run(response.run_key), link="See the run"
    )


TELLERS: Mapping[str, Teller] = {
    "schedules.add": _of_schedule("it plans from now on."),
    "schedules.edit": _of_schedule("the next version is in force."),
    "schedules.pause": _of_schedule("paused; what was planned is withdrawn."),
    "schedules.resume": _of_schedule("it plans again."),
    "schedules.pause_many": _many("paused"),
    "schedules.resume_many": _many("resumed"),
    "schedules.remove": _of_schedule("removed; its history stays."),
    "schedules.trigger": _triggered,
    "runs.cancel": _of_run("cancelled"),
    "runs.skip": _of_run("skipped"),
    "runs.hold": lambda request, _: Said(f"{request.run_key} is held until somebody releases it."),
    "runs.release": lambda request, _: Said(f"{request.run_key} is released."),
    "runs.replay": _replayed,
    "dead.replay": _replayed,
    "runs.cancel_many": _cancelled_many,
    "jobs.enqueue": _enqueued,
    "gates.open": _gate,
    "gates.latest": _gate,
    "gates.drop": _gate,
    "queues.pause": _queue,
    "queues.resume": _queue,
    "nodes.drain": _node,
    "nodes.undrain": _node,
    "freezes.freeze": _freeze("is frozen"),
    "freezes.thaw": _freeze("is not frozen any more"),
    "tokens.revoke": lambda request, response: Said(
        f"Token {response.name} ({request.token_id}) is revoked."
    ),
    "sessions.end": lambda _, response: Said(f"{response.name} is signed out."),
    "notify.put": lambda request, _: Said(f"{request.name} is told from now on."),
    "notify.remove": lambda request, _: Said(f"{request.name} is told no more."),
    "notify.test": _notified,
    "backfills.cancel": lambda request, _: Said(f"Backfill {request.backfill_id} is cancelled."),
}
