"""What the driver's exceptions mean to the rest of Fencepost.

While nodes work they all mean the same: it is unknown whether the server did it. At the first connection a
person is there to fix what is wrong, and the message says how.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import redis

from fencepost.errors import LeaseStoreUnavailable
from fencepost.leases.redis.address import RedisAddress
from fencepost.model.faults import brief
from fencepost.model.quoting import quoted

UNKNOWN = (redis.RedisError, OSError, TimeoutError)

FORBIDDEN = ("user executing the script can't", "no permission", "No permission")
MISTAKEN = ("DB index is out of range", "WRONGTYPE", "wrong kind of value")


class UnknownService(redis.RedisError):
    """Sentinels answered, and none has heard of the service."""

    def __init__(self, service: str) -> None:
        super().__init__(f"no sentinel knows the service {quoted(service)}")


def why(error: BaseException) -> str:
    """Why there is no answer."""
    return f"Redis did not answer: {brief(error)}"


@contextmanager
def translated() -> Iterator[None]:
    """Turn the driver's faults into ours, in the midst of work."""
    try:
        yield
    except UNKNOWN as error:
        raise LeaseStoreUnavailable(why(error)) from error


@contextmanager
def translated_at_open(address: RedisAddress) -> Iterator[None]:
    """Turn the driver's faults at the first connection into one line that says the fix."""
    try:
        yield
    except UNKNOWN as error:
        remedy = _remedy(error)
        if remedy is not None:
            raise address.refuse(f"{brief(error)}; {remedy}") from error
        text = f"leases {quoted(address.shown)}: {brief(error)}; {_advice(error)}"
        raise LeaseStoreUnavailable(text) from error


def _remedy(error: BaseException) -> str | None:
    """What to change in the settings, where the settings are what is wrong."""
    text = str(error)
    if isinstance(error, redis.exceptions.NoPermissionError) or any(part in text for part in FORBIDDEN):
        return "grant the user what the guide to leases in Redis lists"
    if isinstance(error, redis.AuthenticationError):
        return "correct the user or the password in the URL"
    if isinstance(error, UnknownService):
        return "correct the service in the URL"
    if isinstance(error.__context__, ssl.SSLCertVerificationError):
        return "name the authority that signed the server's certificate by ca=FILE"
    if any(part in text for part in MISTAKEN):
        return "choose another database or another name in the URL"
    return None


def _advice(error: BaseException) -> str:
    if isinstance(error, redis.ReadOnlyError):
        return "name the master, or its sentinels by redis+sentinel://"
    return "is the server running, and is this its address?"
