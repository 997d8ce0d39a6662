"""Leases in a folder: a lease store of one's own, for the processes of one host.

Each shard has a file with its last grant, replaced as a whole. Whoever reads or writes it holds the shard's
lock, so each operation is one step for everybody else. Time is the host's clock since it was booted, which
all its processes share; what was written before the last boot has expired.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from fencepost.clock import Clock
from fencepost.errors import InvalidSettings, LeaseStoreUnavailable
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

T = TypeVar("T")

BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass
class Record:
    """What a shard's file says."""

    holder: str | None = None
    epoch: int = 0
    expires_at: float = 0.0
    boot: str = ""


class FolderLeases:
    """See `fencepost.ports.leases`."""

    caveats = ("These leases are seen by the processes of one host only.",)

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._folder = folder
        self._clock = clock
        self._boot = BOOT.read_text().strip()
        self._lineage = Lineage(f"folder:{folder.resolve()}")

    async def acquire(
        self, shards: Sequence[Shard], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Acquisition]:
        return {shard: await self._apart(self._acquire, shard, holder, ttl_s) for shard in shards}

    async def renew(
        self, held: Mapping[Shard, Epoch], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Renewal]:
        return {
            shard: await self._apart(self._renew, shard, epoch, holder, ttl_s)
            for shard, epoch in held.items()
        }

    async def release(self, held: Mapping[Shard, Epoch], holder: NodeId) -> Mapping[Shard, Release]:
        return {
            shard: await self._apart(self._release, shard, epoch, holder) for shard, epoch in held.items()
        }

    async def read(self) -> Sequence[LeaseRecord]:
        try:
            found = [self._read(path) for path in self._folder.glob("*.json")]
        except OSError as error:
            raise LeaseStoreUnavailable(f"leases in {self._folder}: {error}") from error
        return sorted((one for one in found if one is not None), key=lambda one: one.shard)

    async def watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        """A folder gives no hints; nodes ask again at their own beat."""
        return lambda: None

    async def close(self) -> None:
        """Nothing is open between two calls."""

    def _acquire(self, shard: Shard, holder: NodeId, ttl_s: float) -> Acquisition:
        with self._locked(shard) as record:
            left_s = self._left_s(record)
            if record.holder is not None and left_s > 0:
                if record.holder != holder:
                    return HeldBy(NodeId(record.holder), Epoch(record.epoch), left_s)
                return Granted(Epoch(record.epoch), self._lineage)
            granted = Record(holder, record.epoch + 1, self._clock.monotonic() + ttl_s, self._boot)
            self._write(shard, granted)
            return Granted(Epoch(granted.epoch), self._lineage)

    def _renew(self, shard: Shard, epoch: Epoch, holder: NodeId, ttl_s: float) -> Renewal:
        with self._locked(shard) as record:
            if (record.holder, record.epoch) != (holder, epoch) or self._left_s(record) <= 0:
                return Lost()
            self._write(shard, Record(holder, epoch, self._clock.monotonic() + ttl_s, self._boot))
            return Granted(epoch, self._lineage)

    def _release(self, shard: Shard, epoch: Epoch, holder: NodeId) -> Release:
        with self._locked(shard) as record:
            if (record.holder, record.epoch) != (holder, epoch):
                return Lost()
            self._write(shard, Record(None, epoch))
            return Released()

    async def _apart(self, work: Callable[..., T], *arguments: object) -> T | Unknown:
        """In a thread, because a lock may have to be waited for; a fault leaves the outcome open."""
        try:
            return await asyncio.to_thread(work, *arguments)
        except OSError as error:
            return Unknown(f"leases in {self._folder}: {error}")

    @contextmanager
    def _locked(self, shard: Shard) -> Iterator[Record]:
        """What the shard's file says after any wait; nobody else changes it before the end of the block."""
        with (self._folder / f"{shard}.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            file = self._file(shard)
            yield Record(**json.loads(file.read_text())) if file.exists() else Record()

    def _write(self, shard: Shard, record: Record) -> None:
        """Whole or not at all, whenever the process is killed."""
        draft = self._folder / f"{shard}.draft"
        draft.write_text(json.dumps(asdict(record)))
        draft.replace(self._file(shard))

    def _file(self, shard: Shard) -> Path:
        return self._folder / f"{shard}.json"

    def _left_s(self, record: Record) -> float:
        return record.expires_at - self._clock.monotonic() if record.boot == self._boot else 0.0

    def _read(self, path: Path) -> LeaseRecord | None:
        shard = Shard(int(path.stem))
        with self._locked(shard) as record:
            left_s = self._left_s(record)
            if record.holder is None or left_s <= 0:
                return None
            return LeaseRecord(shard, NodeId(record.holder), Epoch(record.epoch), left_s)


async def open_leases(url: str, *, clock: Clock) -> FolderLeases:
    """The leases at `folder:///path`, as --leases names them."""
    folder = Path(url.partition("://")[2])
    if not await asyncio.to_thread(folder.is_dir):
        raise InvalidSettings(f"leases {url}: there is no such folder; make it first: mkdir -p {folder}")
    return FolderLeases(folder, clock)
