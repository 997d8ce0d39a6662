"""Messages of one topic, for one consumer group."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from aiokafka import ConsumerRebalanceListener, TopicPartition, errors
from aiokafka.structs import OffsetAndMetadata

from fencepost.brokers.kafka.connection import ANSWER_TIMEOUT_S, Connection
from fencepost.brokers.kafka.faults import FAULTS
from fencepost.brokers.kafka.offsets import PartitionOffsets
from fencepost.brokers.kafka.records import delivery_of, rejected, rejected_in_short
from fencepost.brokers.kafka.topics import DEAD
from fencepost.errors import BrokerRefused, BrokerUnavailable
from fencepost.model.message import Confirmed, Delivery, Message, Publication, Refused

SLICE_S = 0.25
"""For how long a wait for new messages does not see what was given back."""
CHECK_S = 1.0
"""How often a subscription that finds nothing asks whether the cluster is there."""
SESSION_TIMEOUT_S = 10.0
HEARTBEAT_S = 1.0
HELD_MAX_MS = 2**31 - 1

Publish = Callable[[Sequence[Message]], Awaitable[Sequence[Publication]]]


@dataclass(eq=False)
class Held:
    """A record, by what the adapter knows it."""

    partition: TopicPartition
    offsets: PartitionOffsets
    record: Any
    delivered: int = 1


class KafkaSubscription(ConsumerRebalanceListener):  # type: ignore[misc]  # the driver has no types
    """See `ports.broker.Subscription`."""

    def __init__(
        self, connection: Connection, publish: Publish, topic: str, group: str, hold_max: int
    ) -> None:
        self._connection = connection
        self._publish = publish
        self._topic = topic
        self._group = group
        self._hold_max = hold_max
        self._consumer: Any = None
        self._partitions: dict[TopicPartition, PartitionOffsets] = {}
        self._before: dict[TopicPartition, PartitionOffsets] = {}
        """Those that we had when a rebalance began."""
        self._unplaced: dict[TopicPartition, int] = {}
        """What was read of partitions before it was known where to begin: to be read again from there."""
        self._is_placed = asyncio.Event()
        self._held: set[Held] = set()
        self._given_back: deque[Held] = deque()
        self._turn = asyncio.Lock()
        self._checked_at = 0.0
        self._is_closed = False

    async def open(self) -> None:
        """Join the group. Which partitions are ours is settled later."""
        async with self._turn:
            if self._consumer is not None or self._is_closed:
                return
            consumer = self._connection.consumer(
                group_id=self._group,
                auto_offset_reset="earliest",
                session_timeout_ms=round(SESSION_TIMEOUT_S * 1000),
                heartbeat_interval_ms=round(HEARTBEAT_S * 1000),
                max_poll_interval_ms=HELD_MAX_MS,
            )
            await self._connection.start(consumer)
            consumer.subscribe([self._topic], listener=self)
            self._consumer = consumer

    async def receive(self, limit: int, wait_s: float) -> Sequence[Delivery]:
        now = asyncio.get_running_loop().time
        end = now() + wait_s
        while not self._is_closed:
            if self._consumer is None:
                await self._connection.open()
                await self.open()
            most = min(limit, self._hold_max - len(self._held))
            left = max(0.0, min(SLICE_S, end - now()))
            if found := self._again(most) or await self._read(most, left):
                return [self._delivered(one) for one in found]
            if now() >= end:
                break
        await self._check()
        return []

    async def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        self._finish(self._ours(deliveries))
        await self._commit()

    async def give_back(self, deliveries: Sequence[Delivery]) -> None:
        for one in self._ours(deliveries):
            if one in self._held:
                self._held.remove(one)
                one.delivered += 1
                self._given_back.append(one)

    async def reject(self, deliveries: Sequence[Delivery], reason: str) -> None:
        try:
            await self._keep_aside([one for one in self._ours(deliveries) if one in self._held], reason)
        except BaseException:
            await self.give_back(deliveries)
            raise
        await self.acknowledge(deliveries)

    async def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        with suppress(BrokerUnavailable, BrokerRefused):
            await self._commit()
        async with self._turn:
            self._leave()

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """A rebalance begins: the last moment at which the old owner may commit."""
        self._is_placed.clear()
        with suppress(*FAULTS):
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                await self._commit_due()
        self._before, self._partitions, self._unplaced = self._partitions | self._before, {}, {}

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """A rebalance has ended. What stays with us goes on, unless another has committed meanwhile."""
        committed = await self._committed(list(assigned))
        for one, place in committed.items():
            before = self._before.get(one)
            same = before is not None and place == before.committed
            offsets = before if before is not None and same else PartitionOffsets(*place)
            self._partitions[one] = offsets
            begin = offsets.position if offsets.position >= 0 else self._unplaced.get(one, -1)
            if begin >= 0:
                self._consumer.seek(one, begin)
        self._before, self._unplaced = {}, {}
        self._held = {one for one in self._held if self._is_current(one)}
        self._given_back = deque(one for one in self._given_back if self._is_current(one))
        self._is_placed.set()

    async def _committed(self, partitions: list[TopicPartition]) -> dict[TopicPartition, tuple[int, str]]:
        """The offset and the note of each; where they cannot be had, reading begins where the driver does."""
        if not partitions:
            return {}
        try:
            return await self._connection.committed(self._group, partitions)
        except (BrokerUnavailable, BrokerRefused):
            return dict.fromkeys(partitions, (-1, ""))

    async def _keep_aside(self, held: Sequence[Held], reason: str) -> None:
        dead = self._topic + DEAD
        answers = await self._publish([rejected(one.record, dead, reason) for one in held])
        large = [one for one, answer in zip(held, answers, strict=True) if _is_for_good(answer)]
        letters = [rejected_in_short(one.record, dead, reason) for one in large]
        short = await self._publish(letters) if letters else []
        for answer in (*short, *(one for one in answers if not _is_for_good(one))):
            if not isinstance(answer, Confirmed):
                raise BrokerUnavailable(f"topic {dead}: {answer.reason}")

    def _again(self, most: int) -> list[Held]:
        return [self._given_back.popleft() for _ in range(min(most, len(self._given_back)))]

    async def _read(self, most: int, wait_s: float) -> list[Held]:
        if most <= 0:
            await asyncio.sleep(min(wait_s, SLICE_S))
            return []
        try:
            async with asyncio.timeout(wait_s + SLICE_S):
                found = await self._consumer.getmany(timeout_ms=round(wait_s * 1000), max_records=most)
        except TimeoutError:
            return []
        except errors.KafkaError as error:
            self._leave()
            raise self._connection.fault(error) from error
        return [held for partition, records in found.items() for held in self._taken(partition, records)]

    def _taken(self, partition: TopicPartition, records: Sequence[Any]) -> list[Held]:
        offsets = self._partitions.get(partition)
        if offsets is None:
            self._unplaced.setdefault(partition, records[0].offset)
            return []
        return [Held(partition, offsets, one) for one in records if offsets.take(one.offset, one)]

    def _delivered(self, held: Held) -> Delivery:
        self._held.add(held)
        return delivery_of(held.record, held.delivered, held)

    def _ours(self, deliveries: Sequence[Delivery]) -> list[Held]:
        return [one.handle for one in deliveries if isinstance(one.handle, Held)]

    def _finish(self, held: Sequence[Held]) -> None:
        for one in held:
            one.offsets.finish(one.record.offset)
            self._held.discard(one)

    def _is_current(self, held: Held) -> bool:
        return self._partitions.get(held.partition) is held.offsets

    async def _commit(self) -> None:
        """Commit what is due. During a rebalance, afterwards: only then is it known whether we still may."""
        if self._consumer is None or not (self._partitions or self._before):
            return
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                await self._is_placed.wait()
                await self._commit_due()
        except FAULTS as error:
            raise self._connection.fault(error) from error

    async def _commit_due(self) -> None:
        due = {one: found for one, offsets in self._partitions.items() if (found := offsets.due())}
        if not due:
            return
        current = {one: self._partitions[one] for one in due}
        try:
            await self._consumer.commit({one: OffsetAndMetadata(*place) for one, place in due.items()})
        except (errors.CommitFailedError, errors.IllegalStateError):
            return  # a rebalance was faster; what stays with us is committed after it
        for one, place in due.items():
            current[one].committed = place

    async def _check(self) -> None:
        """Raise where the cluster cannot be reached; the driver would only be silent."""
        now = asyncio.get_running_loop().time()
        if not self._is_closed and now >= self._checked_at + CHECK_S:
            await self._connection.ask(lambda admin: admin.find_coordinator(self._group))
            self._checked_at = asyncio.get_running_loop().time()

    def _leave(self) -> None:
        """Leave the group; what was held is delivered again."""
        if self._consumer is not None:
            self._connection.end(self._consumer)
        self._consumer = None
        self._partitions, self._before, self._unplaced = {}, {}, {}
        self._held.clear()
        self._given_back.clear()
        self._is_placed.clear()


def _is_for_good(answer: Publication) -> bool:
    return isinstance(answer, Refused) and answer.permanent
