"""Streams, each with the one consumer group that all share: what is there, and how a missing one is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import redis

from fencepost.brokers.redis.address import RedisAddress
from fencepost.brokers.redis.pool import Pool
from fencepost.errors import BrokerRefused

GROUP = "fencepost"


async def declare(pool: Pool, streams: Sequence[str]) -> None:
    """Create what is missing. Where we may not, it has to be there."""
    commands = [("XGROUP", "CREATE", one, GROUP, "0", "MKSTREAM") for one in streams]
    for stream, answer in zip(streams, await pool.calls(commands) if commands else (), strict=True):
        if isinstance(answer, redis.exceptions.NoPermissionError):
            await _find(pool, stream)
        elif not _says(answer, "BUSYGROUP"):
            pool.checked(answer)


async def missing(pool: Pool, streams: Sequence[str]) -> Mapping[str, str]:
    """Those that are not there, or have no group, each with the command that creates it."""
    answers = await pool.calls([("XPENDING", one, GROUP) for one in streams]) if streams else []
    found = {}
    for stream, answer in zip(streams, answers, strict=True):
        if _says(answer, "NOGROUP"):
            found[stream] = command(pool.address, stream)
        else:
            pool.checked(answer)
    return found


def command(address: RedisAddress, stream: str) -> str:
    """How a person creates the stream and its group."""
    place = f"-h {address.options['host']} -p {address.options['port']}"
    if address.options["db"]:
        place += f" -n {address.options['db']}"
    if address.is_secure:
        place += " --tls"
    return f"redis-cli {place} XGROUP CREATE {stream} {GROUP} 0 MKSTREAM"


async def _find(pool: Pool, stream: str) -> None:
    how = command(pool.address, stream)
    try:
        absent = await missing(pool, [stream])
    except BrokerRefused as refusal:
        raise BrokerRefused(f"{refusal}; where stream {stream} is missing: {how}") from refusal
    if absent:
        user = pool.address.options["username"] or "default"
        told = f"there is no stream {stream} with the group {GROUP}, and {user} may not create it"
        raise BrokerRefused(f"broker {pool.address.shown}: {told}; create it: {how}")


def _says(answer: object, word: str) -> bool:
    return isinstance(answer, redis.ResponseError) and word in str(answer)
