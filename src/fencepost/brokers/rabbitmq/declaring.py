"""What is there on the broker: queues that are made, and exchanges that are only looked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aiormq.connection import Connection
from aiormq.exceptions import (
    ChannelAccessRefused,
    ChannelLockedResource,
    ChannelNotFoundEntity,
    ChannelPreconditionFailed,
)

from fencepost.brokers.rabbitmq.commands import QUORUM, create_exchange, create_queue
from fencepost.brokers.rabbitmq.faults import brief
from fencepost.brokers.rabbitmq.link import Link
from fencepost.errors import BrokerRefused
from fencepost.model.quoting import quoted

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
    await _declare_queue(link, dead_letters_of(destination), _kept(await link.open()))
    await _declare_queue(link, destination, arguments_of(await link.open(), destination))


def arguments_of(connection: Connection, queue: str) -> Arguments:
    """What a queue is made with that processors receive from."""
    dead = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead_letters_of(queue)}
    return {**_kept(connection), **dead}


async def check_exchange(link: Link, exchange: str) -> None:
    """Raise `BrokerRefused` with the command where there is none."""
    if not await _is_exchange(link, exchange):
        command = create_exchange(link.address.vhost, exchange)
        raise _refused(link, f"there is no exchange {exchange}; create it: {command}")


async def missing(link: Link, destinations: Sequence[str]) -> Mapping[str, str]:
    """The queues and exchanges that are not there, each with the command that creates it."""
    found, vhost = {}, link.address.vhost
    for one in destinations:
        exchange, slash, _ = one.partition("/")
        if slash and not await _is_exchange(link, exchange):
            found[one] = create_exchange(vhost, exchange)
        elif not slash and not await _is_queue(link, one):
            found[one] = create_queue(vhost, one, arguments_of(await link.open(), one))
    return found


async def _is_exchange(link: Link, exchange: str) -> bool:
    async with link.channel() as channel:
        try:
            await channel.exchange_declare(exchange, passive=True)
        except ChannelNotFoundEntity:
            return False
    return True


async def _is_queue(link: Link, queue: str) -> bool:
    async with link.channel() as channel:
        try:
            await channel.queue_declare(queue, passive=True)
        except ChannelNotFoundEntity:
            return False
    return True


def _kept(connection: Connection) -> Arguments:
    """What all our queues are made with."""
    return {**QUORUM, **(NO_LIMIT if major_version(connection) >= LIMITS_DELIVERIES else {})}


async def _declare_queue(link: Link, queue: str, arguments: Arguments) -> None:
    """One that is there with other arguments is used as it is, if a restart of the broker leaves it there.
    Where we may not create it, it has to be there."""
    async with link.channel() as channel:
        try:
            await channel.queue_declare(queue, durable=True, arguments=dict(arguments))
        except ChannelPreconditionFailed as error:
            if "'durable'" in brief(error) or "'auto_delete'" in brief(error):
                raise _refused(link, _not_lasting(link, queue)) from None
        except ChannelLockedResource:
            raise _refused(link, _not_lasting(link, queue)) from None
        except ChannelAccessRefused:
            if not await _is_queue(link, queue):
                command = create_queue(link.address.vhost, queue, arguments)
                who = f"{link.address.user} may not create it"
                raise _refused(link, f"there is no queue {queue}, and {who}; create it: {command}") from None


def _not_lasting(link: Link, queue: str) -> str:
    command = f"rabbitmqctl -p {link.address.vhost} delete_queue {queue}"
    return f"the queue {queue} is not durable, a restart would lose it; delete it: {command}"


def _refused(link: Link, complaint: str) -> BrokerRefused:
    return BrokerRefused(f"broker {quoted(link.address.shown)}: {complaint}")
