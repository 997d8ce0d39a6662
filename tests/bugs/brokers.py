"""Bugs between the ledger and a message broker."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

from fencepost.model.identifiers import Fence
from fencepost.model.message import Confirmed, Publication, Unconfirmed
from fencepost.model.run import Ticket
from fencepost.services.deliverer import Deliverer
from fencepost.services.intake import IntakeService
from fencepost.services.processor import Processor
from fencepost.services.replies import Replies, Reported
from tests.bugs.bug import Planted, bug

DELIVERER = "tests/brokers/test_deliverer.py"
REPLIES = "tests/brokers/test_replies.py"
PROCESSOR = "tests/brokers/test_processor.py"
INTAKE = "tests/brokers/test_intake.py"


@bug(
    "a message is acknowledged after the ledger has it",
    f"{INTAKE}::test_a_message_is_not_acknowledged_before_the_ledger_has_it",
)
def intake_acknowledges_before_the_ledger() -> Planted:
    """The intake tells the broker that it has the messages, and then the store is away: no run is made of
    them, and no one has them any more."""
    take = IntakeService._take

    async def hasty(self: Any, subscription: Any, deliveries: Any) -> None:
        await subscription.acknowledge(deliveries)
        await take(self, subscription, deliveries)

    return patch.object(IntakeService, "_take", hasty)


@bug(
    "a reply is acknowledged after the ledger has it",
    f"{REPLIES}::test_no_reply_is_lost_while_the_store_is_away",
)
def reply_acknowledged_before_the_ledger() -> Planted:
    """The broker is told that the reply was taken, and then the store is away: work that was done is done
    again."""
    take = Replies._take

    async def hasty(self: Any, broker: Any, subscription: Any, deliveries: Any) -> None:
        await subscription.acknowledge(deliveries)
        await take(self, broker, subscription, deliveries)

    return patch.object(Replies, "_take", hasty)


@bug(
    "a run has succeeded when its message is confirmed",
    f"{DELIVERER}::test_no_run_has_succeeded_while_its_confirm_is_awaited",
)
def succeeded_before_the_confirm() -> Planted:
    """The deliverer counts what it has sent, and does not wait to hear that the broker has it."""
    publish = Deliverer._publish

    async def hasty(self: Any, broker: Any, claims: Sequence[Any]) -> Sequence[Publication]:
        sending = asyncio.create_task(publish(self, broker, claims))
        self.sending.add(sending)
        sending.add_done_callback(self.sending.discard)
        return [Confirmed()] * len(claims)

    return patch.object(Deliverer, "_publish", hasty)


@bug(
    "no answer is no confirm",
    f"{DELIVERER}::test_no_attempt_is_spent_where_the_broker_did_not_answer",
)
def unconfirmed_taken_for_confirmed() -> Planted:
    """The connection broke before the confirm came, the run counts as sent, and no broker has its message."""
    return _unconfirmed_is(lambda self, claim: _ending(self, claim, Confirmed()))


@bug(
    "what was not confirmed is sent again",
    f"{DELIVERER}::test_no_attempt_is_spent_where_the_broker_did_not_answer",
)
def unconfirmed_never_sent_again() -> Planted:
    """A message of which the broker said nothing is left to itself, as if a processor had it."""
    return _unconfirmed_is(lambda self, claim: None)


@bug(
    "a reply is compared by its fence",
    f"{REPLIES}::test_nothing_changes_by_a_reply_with_an_old_fence",
)
def reply_taken_without_its_fence() -> Planted:
    """The report of an attempt that was given up ends the one after it, which is still at work."""

    def mine(self: Any) -> Ticket:
        run = self.run
        return Ticket(run.namespace, run.run_key, run.attempt, Fence(run.fence))

    return patch.object(Reported, "ticket", property(mine))


@bug(
    "silence counts only where it could be heard",
    "tests/brokers/test_outage.py::test_no_attempt_is_spent_while_no_worker_reaches_the_broker",
)
def runs_taken_while_the_broker_is_away() -> Planted:
    """The broker is away for longer than the heartbeat's timeout, and the reaper takes the runs from
    processors that are at work on them."""
    return patch("fencepost.services.reaper.may_speak", lambda *_: True)


@bug(
    "a processor acknowledges after the broker has its reply",
    f"{PROCESSOR}::test_no_order_is_acknowledged_before_the_broker_has_its_reply",
)
def processor_acknowledges_before_its_reply() -> Planted:
    """The processor dies between its acknowledgement and its reply: the work is done, and no one is told."""
    do = Processor._do

    async def hasty(self: Any, broker: Any, subscription: Any, work: Any) -> None:
        await subscription.acknowledge(work.deliveries)
        await do(self, broker, subscription, work)

    return patch.object(Processor, "_do", hasty)


_ending = Deliverer._ending


def _unconfirmed_is(meaning: Any) -> Planted:
    def ending(self: Any, claim: Any, answer: Publication | None) -> Any:
        return meaning(self, claim) if isinstance(answer, Unconfirmed) else _ending(self, claim, answer)

    return patch.object(Deliverer, "_ending", ending)
