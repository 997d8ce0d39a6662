"""Leases in Redis, as the port wants them: what is asked of the scripts, and what their answers mean."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence

from fencepost.clock import Clock
from fencepost.leases.redis.address import RedisAddress, read_address
from fencepost.leases.redis.connection import Master
from fencepost.leases.redis.faults import UNKNOWN, translated, translated_at_open, why
from fencepost.leases.redis.hints import RedisHints
from fencepost.leases.redis.scripts import ACQUIRE, CHECK, READ, RELEASE, RENEW
from fencepost.leases.redis.session import Session
from fencepost.model.identifiers import Epoch, Lineage, NodeId, Shard
from fencepost.model.lease import (
    Acquisition,
    Granted,
    HeldBy,
    LeaseRecord,
    Lost,
    Release,
    Released,
    Renewal,
    Unknown,
)

FORGETFUL = (
    "Redis replicates after it has answered: a failover, or a restart without appendonly, may forget a lease "
    "or an epoch, and two nodes may believe that they lead; the ledger still takes the plans of one only."
)
CLOCKED = (
    "Redis judges expiry by its calendar clock: a clock that is set forward, or a promoted replica whose "
    "clock is ahead, ends leases early. One that is set back by more than a second is noticed, and costs at "
    "most a change of leader."
)
EVICTING = (
    "This Redis server makes room by {policy} when its memory is full, and may drop leases before they "
    "expire: set maxmemory-policy to noeviction."
)
SECOND_MS = 1000


async def open_leases(url: str, *, clock: Clock) -> RedisLeases:
    """Leases on the server at this URL, which was seen to answer and to allow what is needed."""
    address = read_address(url)
    leases = RedisLeases(address, clock)
    try:
        with translated_at_open(address):
            await leases.check()
    except BaseException:
        await leases.close()
        raise
    return leases


class RedisLeases:
    """See `ports.leases`."""

    def __init__(self, address: RedisAddress, clock: Clock) -> None:
        master = Master(address)
        self._name = address.name
        self._prefix = f"{{{address.name}}}:"
        self._epochs = f"{self._prefix}epochs"
        self._channel = f"{self._prefix}leases"
        self._session = Session(master)
        self._hints = RedisHints(master, self._channel, clock)
        self._caveats = [FORGETFUL, CLOCKED]

    @property
    def caveats(self) -> Sequence[str]:
        return tuple(self._caveats)

    async def check(self) -> None:
        """Make sure that the server answers, is a master, and lets us do all that we shall have to."""
        keys = [self._epochs, f"{self._prefix}check"]
        memory_max, policy = await self._session.run_both_ways(CHECK, keys, [self._channel])
        if int(memory_max) > 0 and policy != "noeviction":
            self._caveats.append(EVICTING.format(policy=policy))

    async def acquire(
        self, shards: Sequence[Shard], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Acquisition]:
        wanted = list(shards)
        if not wanted:
            return {}
        keys = [self._epochs, *self._leases(wanted)]
        try:
            history, *leases = await self._session.run(
                ACQUIRE, keys, [holder, _ms(ttl_s), secrets.token_hex(8), *wanted]
            )
        except UNKNOWN as error:
            return dict.fromkeys(wanted, Unknown(why(error)))
        answers = (self._acquisition(holder, history, lease) for lease in leases)
        return dict(zip(wanted, answers, strict=True))

    async def renew(
        self, held: Mapping[Shard, Epoch], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Renewal]:
        if not held:
            return {}
        try:
            history, *leases = await self._session.run(
                RENEW, self._leases(held), [holder, _ms(ttl_s), *held.values()]
            )
        except UNKNOWN as error:
            return dict.fromkeys(held, Unknown(why(error)))
        return {
            shard: Granted(epoch, self._lineage(history, origin), set_back_ms / SECOND_MS)
            if origin
            else Lost()
            for (shard, epoch), (origin, set_back_ms) in zip(held.items(), leases, strict=True)
        }

    async def release(self, held: Mapping[Shard, Epoch], holder: NodeId) -> Mapping[Shard, Release]:
        if not held:
            return {}
        try:
            freed = await self._session.run(
                RELEASE, self._leases(held), [self._channel, holder, *held.values()]
            )
        except UNKNOWN as error:
            return dict.fromkeys(held, Unknown(why(error)))
        return {shard: Released() if each else Lost() for shard, each in zip(held, freed, strict=True)}

    async def read(self) -> Sequence[LeaseRecord]:
        with translated():
            rows = await self._session.run(READ, [self._epochs], [f"{self._prefix}lease:"])
        records = [
            LeaseRecord(
                Shard(int(shard)), NodeId(holder), Epoch(int(epoch)), left_ms / SECOND_MS, ahead_ms > 0
            )
            for shard, holder, epoch, left_ms, ahead_ms in rows
        ]
        return sorted(records, key=lambda record: record.shard)

    async def watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        return await self._hints.watch(callback)

    async def close(self) -> None:
        await self._hints.close()
        await self._session.close()

    def _leases(self, shards: Iterable[Shard]) -> list[str]:
        return [f"{self._prefix}lease:{shard}" for shard in shards]

    def _lineage(self, history: str, origin: str) -> Lineage:
        return Lineage(f"redis:{history}:{self._name}:{origin}")

    def _acquisition(
        self, holder: NodeId, history: str, lease: tuple[str, str, str, int, int]
    ) -> Acquisition:
        name, number, origin, left_ms, set_back_ms = lease
        epoch = Epoch(int(number))
        if name == holder:
            return Granted(epoch, self._lineage(history, origin), set_back_ms / SECOND_MS)
        return HeldBy(NodeId(name), epoch, left_ms / SECOND_MS)


def _ms(seconds: float) -> int:
    """Rounded up: expiry is never early."""
    return math.ceil(seconds * SECOND_MS)
