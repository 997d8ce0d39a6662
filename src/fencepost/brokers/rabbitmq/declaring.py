"""What is there on the broker: queues that are made, and exchanges that are only looked for."""

from __future__ import annotations

from aiormq.connection import Connection
from aiormq.exceptions import (
    ChannelAccessRefused,
    ChannelLockedResource,
    ChannelNotFoundEntity,
    ChannelPreconditionFailed,
)

from fencepost.brokers.rabbitmq.faults import brief
from fencepost.brokers.rabbitmq.link import Link
from fencepost.errors import BrokerRefused
from fencepost.model.quoting import quoted

QUORUM = {"x-queue-type": "quorum"}
NO_LIMIT = {"x-delivery-limit": -1}
"""From 4.0 on RabbitMQ gives up a message after 20 deliveries, for example while a ledger is away that it is
for. Poison is told by who receives it."""
LIMITS_DELIVERIES = 4

Arguments = dict[str, str | int]


def major_version(connection: Connection) -> int:
    """Of the server; 0 where it does not tell."""
    major = str(connection.server_properties.get("version", "")).partition(".")[0]
    return int(major) if major.isdigit() else 0


def dead_letters_of(queue: str) -> str:
    """Where rejected messages of the queue are kept."""
    return f"{queue}.dead"


async def declare(link: Link, destination: str) -> None:
    """Create the queue and the one for its rejected messages, or see that the exchange is there."""
    exchange, slash, _ = destination.partition("/")
    if slash:
        await check_exchange(link, exchange)
        return
    dead = dead_letters_of(destination)
    await _declare_queue(link, dead, {})
    await _declare_queue(link, destination, {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead})


async def check_exchange(link: Link, exchange: str) -> None:
    """Raise `BrokerRefused` with the command where there is none."""
    async with link.channel() as channel:
        try:
            await channel.exchange_declare(exchange, passive=True)
        except ChannelNotFoundEntity:
            command = f"rabbitmqadmin declare exchange name={exchange} type=topic durable=true"
            raise _refused(link, f"there is no exchange {exchange}; create it: {command}") from None


async def _declare_queue(link: Link, queue: str, arguments: Arguments) -> None:
    """One that is there with other arguments is used as it is, if a restart of the broker leaves it there."""
    connection = await link.open()
    limit = NO_LIMIT if major_version(connection) >= LIMITS_DELIVERIES else {}
    async with link.channel() as channel:
        try:
            await channel.queue_declare(queue, durable=True, arguments={**QUORUM, **arguments, **limit})
        except ChannelPreconditionFailed as error:
            if "'durable'" in brief(error) or "'auto_delete'" in brief(error):
                raise _refused(link, _not_lasting(link, queue)) from None
        except ChannelLockedResource:
            raise _refused(link, _not_lasting(link, queue)) from None
        except ChannelAccessRefused:
            await _find_queue(link, queue)


async def _find_queue(link: Link, queue: str) -> None:
    """Where we may not create a queue, it has to be there."""
    async with link.channel() as channel:
        try:
            await channel.queue_declare(queue, passive=True)
        except ChannelNotFoundEntity:
            options = """durable=true arguments='{"x-queue-type": "quorum"}'"""
            command = f"rabbitmqadmin declare queue name={queue} {options}"
            text = (
                f"there is no queue {queue}, and {link.address.user} may not create it; create it: {command}"
            )
            raise _refused(link, text) from None


def _not_lasting(link: Link, queue: str) -> str:
    command = f"rabbitmqctl -p {link.address.vhost} delete_queue {queue}"
    return f"the queue {queue} is not durable, a restart would lose it; delete it: {command}"


def _refused(link: Link, complaint: str) -> BrokerRefused:
    return BrokerRefused(f"broker {quoted(link.address.shown)}: {complaint}")
