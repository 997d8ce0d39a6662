"""`open_leases` and `EtcdLeases`: the port, made of the parts beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from fencepost.clock import Clock
from fencepost.errors import LeaseStoreUnavailable
from fencepost.leases.etcd.acquiring import Acquiring
from fencepost.leases.etcd.address import EtcdAddress, read_address
from fencepost.leases.etcd.answers import CALL_TIMEOUT_S, Answers, answered
from fencepost.leases.etcd.faults import Denied, Fault, Refused
from fencepost.leases.etcd.gateway import Gateway
from fencepost.leases.etcd.hints import EtcdHints
from fencepost.leases.etcd.keyspace import Keyspace
from fencepost.leases.etcd.releasing import Releasing
from fencepost.leases.etcd.renewing import Renewing
from fencepost.model.identifiers import Epoch, NodeId, Shard
from fencepost.model.lease import Acquisition, LeaseRecord, Release, Renewal, Unknown

OPEN_TIMEOUT_S = 5.0

EXTENDED = (
    "When etcd's own leader changes, every lease begins its term anew: the shards of a node that died just "
    "before are taken over about one term later than usual."
)
RESTORED = (
    "An etcd that is restored from a snapshot repeats epochs, and the ledger refuses them: give the leases "
    "another name= in their URL then."
)
PLAIN_PASSWORD = "The password of etcd travels unencrypted: use etcds:// in the URL of the leases."


async def open_leases(url: str, *, clock: Clock) -> EtcdLeases:
    """A client of the etcd that the URL names, which has answered once."""
    address = read_address(url)
    gateway = Gateway(address)
    leases = EtcdLeases(gateway, address, clock)
    try:
        async with asyncio.timeout(OPEN_TIMEOUT_S):
            await leases.check()
    except BaseException as error:
        await gateway.close()
        if isinstance(error, Fault | TimeoutError):
            raise _complaint(address, error) from error
        raise
    return leases


class EtcdLeases:
    """See `ports.leases`."""

    def __init__(self, gateway: Gateway, address: EtcdAddress, clock: Clock) -> None:
        self._gateway = gateway
        self._address = address
        self._keys = Keyspace(gateway, address.name)
        self._hints = EtcdHints(gateway, self._keys.prefix, clock)

    @property
    def caveats(self) -> Sequence[str]:
        plain = self._address.credentials is not None and not self._address.tls
        return (EXTENDED, RESTORED, PLAIN_PASSWORD) if plain else (EXTENDED, RESTORED)

    async def acquire(
        self, shards: Sequence[Shard], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Acquisition]:
        return await answered(shards, Acquiring(self._keys, shards, holder, ttl_s).run)

    async def renew(
        self, held: Mapping[Shard, Epoch], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Renewal]:
        return await answered(held, Renewing(self._keys, held, holder, ttl_s).run)

    async def release(self, held: Mapping[Shard, Epoch], holder: NodeId) -> Mapping[Shard, Release]:
        return await answered(held, Releasing(self._keys, held, holder).run)

    async def read(self) -> Sequence[LeaseRecord]:
        records: Answers[LeaseRecord] = Answers()
        try:
            async with asyncio.timeout(CALL_TIMEOUT_S):
                await self._read(records)
        except TimeoutError as error:
            raise LeaseStoreUnavailable("etcd: no answer in time") from error
        return [_known(record) for _, record in sorted(records.given.items())]

    async def watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        return await self._hints.watch(callback)

    async def close(self) -> None:
        await self._hints.close()
        await self._gateway.close()

    async def check(self) -> None:
        """Raise if etcd does not answer, or does not let us read and write our keys."""
        await self._keys.look_and_mark()

    async def _read(self, records: Answers[LeaseRecord]) -> None:
        entries = (await self._keys.look()).entries

        async def record(shard: Shard) -> LeaseRecord:
            entry = entries[shard]
            return LeaseRecord(shard, entry.holder, entry.epoch, await self._keys.remaining_s(entry))

        await records.find(entries, record)


def _known(record: LeaseRecord | Unknown) -> LeaseRecord:
    if isinstance(record, Unknown):
        raise LeaseStoreUnavailable(f"etcd: {record.why}")
    return record


def _complaint(address: EtcdAddress, error: Fault | TimeoutError) -> Exception:
    """One line about the first contact that failed, with the fix."""
    said = str(error) or "no answer in time"
    if isinstance(error, Denied):
        remedy = "correct the user and the password, or leave them out where etcd knows none"
        return address.refuse(f"{said}; {remedy}, or grant the user readwrite on {address.name}/")
    if "CERTIFICATE_VERIFY_FAILED" in said:
        return address.refuse(f"{said}; name the authority that etcd's certificate is from by ca=/path")
    if isinstance(error, Refused):
        return address.refuse(f"{said}; is this an etcd of version 3.4 or newer, and is tls= as it wants it?")
    remedy = "is etcd running, is this its address, and do both sides agree about TLS?"
    return LeaseStoreUnavailable(f"{address.refuse(said)}; {remedy}")
