"""Topics: which are there, how one is created, and what one takes.

Whether a topic is there is never found out by asking for it by name: many clusters would create it, with one
partition and one replica.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from aiokafka import errors
from aiokafka.admin import NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from fencepost.brokers.kafka.connection import ANSWER_TIMEOUT_S, Connection
from fencepost.errors import BrokerRefused, BrokerUnavailable

DEAD = ".dead"
"""Ends the name of the topic that keeps what was rejected."""
ANNOUNCEMENTS = "fencepost.announcements"
ANNOUNCED = {"retention.ms": "3600000"}
LOOK_AGAIN_S = 0.05
FENCED = "fenced"
"""In the reason of a cluster whose servers have yet to join it, or have just lost it."""


def topic_of(destination: str) -> str:
    """The topic that the destination names."""
    if "/" in destination:
        dotted = destination.replace("/", ".")
        raise BrokerRefused(f"destination {destination}: the name of a topic has no /; write {dotted}")
    return destination


class Topics:
    """Those of one cluster."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._there: frozenset[str] = frozenset()

    async def missing(self, topics: Iterable[str]) -> set[str]:
        """Those that are not there, or that we may not see."""
        wanted = set(topics)
        if not wanted <= self._there:
            self._there = frozenset(await self._connection.ask(lambda admin: admin.list_topics()))
        return wanted - self._there

    def forget(self, topic: str) -> None:
        """Look again before it is used next."""
        self._there -= {topic}

    async def declare(self, destinations: Sequence[str]) -> None:
        """Create what is missing, and the topics of what will be rejected."""
        topics = [topic_of(one) for one in destinations]
        for topic in topics:
            self.forget(topic)
        absent = await self.missing([*topics, *(one + DEAD for one in topics)])
        await self._check(set(topics) - absent)
        await self._check((await self._create(sorted(absent), {})).intersection(topics))

    async def declare_announcements(self) -> None:
        """Create the one topic of all announcements, which are not kept for long."""
        await self._create(sorted(await self.missing([ANNOUNCEMENTS])), ANNOUNCED)

    def advice(self, topic: str) -> str:
        """The command that creates it."""
        address = self._connection.address
        command = f"kafka-topics.sh --bootstrap-server {address.servers} --create --topic {topic}"
        if address.replication_factor > 0:
            command += f" --replication-factor {address.replication_factor}"
        return f"{command} --partitions {self._partitions(topic)}"

    async def partitions(self, topic: str) -> list[int]:
        """The numbers of the partitions of a topic that is there."""
        (found,) = await self._connection.ask(lambda admin: admin.describe_topics([topic]))
        return sorted(one["partition"] for one in found["partitions"])

    async def setting(self, topic: str, name: str) -> str | None:
        """A setting of the topic; None where we may not read it."""
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, {name: ""})
        answers = await self._connection.ask(lambda admin: admin.describe_configs([resource]))
        for error_code, _, _, _, entries in answers[0].resources:
            for entry in entries if not error_code else ():
                if entry[0] == name:
                    return str(entry[1])
        return None

    async def _check(self, topics: Iterable[str]) -> None:
        servers = self._connection.address.servers
        for topic in sorted(topics):
            policy = await self.setting(topic, "cleanup.policy")
            if policy is not None and "compact" in policy:
                raise BrokerRefused(
                    f"topic {topic}: cleanup.policy is {policy}, which drops messages before they are "
                    f"received; set it: kafka-configs.sh --bootstrap-server {servers} "
                    f"--alter --topic {topic} --add-config cleanup.policy=delete"
                )

    async def _create(self, topics: Sequence[str], settings: Mapping[str, str]) -> set[str]:
        """The topics among them that another client has created since we looked."""
        if not topics:
            return set()
        factor = self._connection.address.replication_factor
        # The driver takes -1, the cluster's own default, only beside an assignment, which is empty.
        apart: dict[int, list[int]] | None = {} if factor < 0 else None
        new = [NewTopic(one, self._partitions(one), factor, apart, settings) for one in topics]
        answer = await self._connection.ask(lambda admin: admin.create_topics(new))
        others: set[str] = set()
        for topic, code, *text in answer.topic_errors:
            if code == errors.TopicAlreadyExistsError.errno:
                others.add(topic)
            elif code:
                reason = (text and text[0]) or errors.for_code(code).__name__
                if code == errors.InvalidReplicationFactorError.errno and FENCED in reason:
                    raise BrokerUnavailable(f"topic {topic} cannot be created yet: {reason}")
                raise BrokerRefused(
                    f"topic {topic} cannot be created: {reason}; create it: {self.advice(topic)}"
                )
        await self._wait_for_leaders(topics)
        self._there |= set(topics)
        return others

    async def _wait_for_leaders(self, topics: Sequence[str]) -> None:
        """A topic is created a moment before all servers know who leads its partitions."""
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                while not all(map(_is_led, await self._described(topics))):  # noqa: ASYNC110 (no event tells)
                    await asyncio.sleep(LOOK_AGAIN_S)
        except TimeoutError as error:
            raise BrokerUnavailable(f"topic {topics[0]}: its partitions have no leader") from error

    async def _described(self, topics: Sequence[str]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = await self._connection.ask(
            lambda admin: admin.describe_topics(list(topics))
        )
        return found

    def _partitions(self, topic: str) -> int:
        apart = topic == ANNOUNCEMENTS or topic.endswith(DEAD)
        return 1 if apart else self._connection.address.partitions


def _is_led(topic: Mapping[str, Any]) -> bool:
    return bool(topic["partitions"]) and all(one["leader"] >= 0 for one in topic["partitions"])
