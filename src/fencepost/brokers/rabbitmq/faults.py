"""What the driver's exceptions mean, and a limit of time for everything that is asked of it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiormq.exceptions import AMQPError, ChannelAccessRefused, ChannelInvalidStateError

from fencepost.brokers.rabbitmq.address import RabbitAddress
from fencepost.errors import BrokerRefused, BrokerUnavailable, FencepostError
from fencepost.model.quoting import quoted

CALL_TIMEOUT_S = 10.0
FAULTS = (AMQPError, ChannelInvalidStateError, OSError, TimeoutError, RuntimeError)
"""The driver raises a plain RuntimeError where a connection is closed."""


def brief(error: BaseException | None) -> str:
    """What the broker or the system said, in one line."""
    parts = [str(part) for part in getattr(error, "args", ()) if isinstance(part, str) and part]
    if parts and not isinstance(error, RuntimeError):
        return parts[-1].splitlines()[0].rstrip(".")
    return "no answer in time" if isinstance(error, TimeoutError) else "the connection was lost"


@asynccontextmanager
async def bounded(address: RabbitAddress, limit_s: float = CALL_TIMEOUT_S) -> AsyncIterator[None]:
    """Turn the driver's faults, and a limit that is reached, into ours.

    The driver cancels who waits when a connection ends; that is no cancellation of the task."""
    try:
        async with asyncio.timeout(limit_s):
            yield
    except FencepostError:
        raise
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise unavailable(address, error) from error
    except ChannelAccessRefused as error:
        text = f"{brief(error)}; grant the user what the guide to RabbitMQ lists"
        raise BrokerRefused(f"broker {quoted(address.shown)}: {text}") from error
    except FAULTS as error:
        raise at_open(address, error) or unavailable(address, error) from error


def unavailable(address: RabbitAddress, error: BaseException | None) -> BrokerUnavailable:
    return BrokerUnavailable(f"broker {quoted(address.shown)}: {brief(error)}")


def at_open(address: RabbitAddress, error: BaseException) -> BrokerRefused | None:
    """The refusal of a connection, with what to change; None where waiting may help."""
    text = brief(error)
    if "ACCESS_REFUSED" in text:
        remedy = "correct the user or the password in the URL"
    elif "Connection.OpenOk" in text:  # The driver keeps what RabbitMQ said to itself.
        vhost, grant = address.vhost, f"rabbitmqctl set_permissions -p {address.vhost} {address.user}"
        text = f"RabbitMQ does not let the user {address.user} into the vhost {vhost}"
        remedy = f"where it is missing: rabbitmqctl add_vhost {vhost}; else: {grant} '.*' '.*' '.*'"
    elif isinstance(error.__cause__, ssl.SSLCertVerificationError):
        remedy = "name the authority that signed the server's certificate by cafile=FILE"
    else:
        return None
    return BrokerRefused(f"broker {quoted(address.shown)}: {text}; {remedy}")
