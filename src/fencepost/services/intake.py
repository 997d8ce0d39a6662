"""Intake: messages of a source become runs of a job, each exactly once.

A batch is received, written to the ledger in one call and acknowledged, in that order. The run's key is made
of the source and of the message's id, or of the field that the intake names: a message that is delivered
again finds its run there. A message that cannot be read becomes a run too, which ends dead: an operator finds
it among the dead letters, and the broker need not deliver it again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from hashlib import sha256

from fencepost.clock import time_ordered_id
from fencepost.config import Settings
from fencepost.core.payload import PAYLOAD_BYTES_MAX, check_payload
from fencepost.errors import InvalidPayload
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import KEY_LENGTH_MAX, job_key
from fencepost.model.intake import UNREADABLE, Intake
from fencepost.model.job import JobSpec
from fencepost.model.json import JsonObject
from fencepost.model.message import Delivery
from fencepost.model.run import NewRun
from fencepost.model.text import cleaned
from fencepost.ports.broker import Broker, Subscription
from fencepost.ports.store import Store
from fencepost.services.broker_link import BrokerLink, BrokerService
from fencepost.services.enqueueing import enqueue
from fencepost.telemetry.events import emit
from fencepost.telemetry.message_events import BacklogSeen, MessagesTaken

BATCH_MAX = 500
HOLD_MAX = 1_000
WAIT_S = 5.0
LAG_EVERY_S = 10.0
"""How often to read how many messages wait in the source."""
SHOWN_MAX = 2_000
"""How many characters of a message that cannot be read are kept."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A message as a run, and why it cannot be done, if that is so."""

    run: NewRun
    trouble: str | None = None


class IntakeService(BrokerService):
    """One source of one application."""

    name = "intake"

    def __init__(
        self, store: Store, intake: Intake, job: JobSpec, link: BrokerLink, settings: Settings
    ) -> None:
        super().__init__(link)
        self._store = store
        self._intake = intake
        self._job = job
        self._settings = settings
        self._subscription: Subscription | None = None
        self._looked_at_s: float | None = None

    async def run_once(self) -> float:
        """Take what has come."""
        broker = await self.link.ready()
        if self._subscription is None:
            self._subscription = await broker.subscribe(self._intake.source, self._intake.group, HOLD_MAX)
        await self._look(broker)
        deliveries = await self._subscription.receive(BATCH_MAX, WAIT_S)
        if deliveries:
            await self._take(self._subscription, deliveries)
        return 0.0

    async def _look(self, broker: Broker) -> None:
        """Report how far the ledger is behind the source."""
        now_s, source = asyncio.get_running_loop().time(), self._intake.source
        if self._looked_at_s is not None and now_s < self._looked_at_s + LAG_EVERY_S:
            return
        self._looked_at_s = now_s
        waiting = await broker.backlog(source, self._intake.group)
        if waiting is not None:
            self.link.waiting[source] = waiting
            emit(BacklogSeen(source, waiting))

    async def run(self) -> None:
        try:
            await super().run()
        finally:
            if self._subscription is not None:
                await self._subscription.close()

    async def _take(self, subscription: Subscription, deliveries: Sequence[Delivery]) -> None:
        self.count_again(deliveries)
        taken = [taken_of(one, self._intake, self._job) for one in deliveries]
        # A store may refuse a batch with one key twice; the first message of a key is its run.
        first = {one.run.run_key: one for one in reversed(taken)}
        try:
            entered = await enqueue(
                self._store.ledger, self._settings.namespace, [one.run for one in first.values()]
            )
        except BaseException:
            await self.leave(subscription, deliveries)
            raise
        await subscription.acknowledge(deliveries)
        troubles = [one for one in first.values() if one.trouble is not None]
        for one in troubles:
            self.log.warning("a message cannot be read", run_key=one.run.run_key, error=one.trouble)
        new = sum(one.is_new for one in entered)
        emit(MessagesTaken(self._intake.source, new, len(deliveries) - new, len(troubles)))
        self.log.info("messages taken", source=self._intake.source, new=new, repeated=len(deliveries) - new)


def taken_of(delivery: Delivery, intake: Intake, job: JobSpec) -> Taken:
    """The run that a message becomes."""
    try:
        payload = _object(delivery.body)
        key = _key(delivery, intake, payload)
        check_payload(job, payload)
    except (InvalidPayload, ValueError, RecursionError) as error:
        trouble = cleaned(str(error))
        shown = cleaned(delivery.body[:SHOWN_MAX].decode("utf-8", "replace"))
        unreadable: JsonObject = {UNREADABLE: trouble, "body": shown}
        # Its name must not equal that of a message whose field has this value.
        named = _id_of(delivery) if intake.key is None else f"unreadable:{_id_of(delivery)}"
        return Taken(_run(job, named, unreadable, intake), trouble)
    return Taken(_run(job, key, payload, intake))


def _object(body: bytes) -> JsonObject:
    if len(body) > PAYLOAD_BYTES_MAX:
        raise InvalidPayload(f"the body has {len(body)} bytes; at most {PAYLOAD_BYTES_MAX}")
    found = json.loads(body)
    if not isinstance(found, dict):
        raise InvalidPayload(f"the body is a JSON {type(found).__name__}; expected an object")
    return found


def _key(delivery: Delivery, intake: Intake, payload: JsonObject) -> str:
    if intake.key is None:
        return _id_of(delivery)
    value = payload.get(intake.key)
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise InvalidPayload(f"field {intake.key} = {value!r}: expected a text or a whole number, the key")
    return str(value)


def _id_of(delivery: Delivery) -> str:
    """The message's id. A message without an id is another message each time it comes."""
    return delivery.id or time_ordered_id()


def _run(job: JobSpec, key: str, payload: JsonObject, intake: Intake) -> NewRun:
    source = intake.source.replace("/", ":")  # The first / ends it: no source has a colon.
    name = f"{source}/{key}"
    fits = len(name) <= KEY_LENGTH_MAX and name.isprintable() and "#" not in name
    name = name if fits else f"{source}/{sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()}"
    return NewRun(job_key(job.key_name, name), job.name, payload, job.queue, job.priority, None)
