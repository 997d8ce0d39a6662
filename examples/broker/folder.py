"""A broker in a folder, for the processes of one host: each message is a file, and taking one is a rename.

Who is authoritative: the file system. A message is confirmed when its file is on the disk under its name. A
consumer owns what it has moved into a folder of its own, and holds a lock there for as long as it lives; who
looks for messages first moves back what the dead have left.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import time_ns
from urllib.parse import quote, urlsplit

from fencepost.errors import BrokerUnavailable, InvalidSettings
from fencepost.model.message import Confirmed, Delivery, Message, Publication, Refused

LOOK_AGAIN_S = 0.05
MESSAGE_MAX = 1_000_000


async def open_broker(url: str) -> FolderBroker:
    """The broker at `folder:///path`, as --broker names it."""
    path = urlsplit(url).path
    if not path:
        raise InvalidSettings("broker folder://: expected folder:///path")
    return FolderBroker(Path(path))


class FolderBroker:
    """Every destination is a folder; groups share its messages."""

    name = "folder"
    caveats: Sequence[str] = ("messages are seen by the processes of this host only",)
    message_max = MESSAGE_MAX

    def __init__(self, root: Path) -> None:
        self._root = root
        self._number = 0
        self._listeners: set[asyncio.Task[None]] = set()

    async def connect(self) -> None:
        try:
            self._root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BrokerUnavailable(f"broker folder {self._root}: {error.strerror}") from None

    async def declare(self, destinations: Sequence[str]) -> None:
        await self.connect()
        for one in destinations:
            (self._folder(one) / "ready").mkdir(parents=True, exist_ok=True)

    async def missing(self, destinations: Sequence[str]) -> Mapping[str, str]:
        ready = {one: self._folder(one) / "ready" for one in destinations}
        return {one: f"mkdir -p {folder}" for one, folder in ready.items() if not folder.exists()}

    async def publish(self, messages: Sequence[Message]) -> Sequence[Publication]:
        await self.connect()
        return [self._publish(one) for one in messages]

    async def subscribe(self, destination: str, group: str, hold_max: int) -> FolderSubscription:
        await self.declare([destination])
        return FolderSubscription(self._folder(destination), hold_max)

    async def backlog(self, destination: str, group: str) -> int | None:
        ready = self._folder(destination) / "ready"
        return len(_names(ready)) if ready.exists() else 0

    async def announce(self, topic: str, body: bytes) -> None:
        folder = self._folder(topic) / "heard"
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder, f"{time_ns():020}-{os.getpid()}", body)

    async def listen(self, topic: str, callback: Callable[[bytes], None]) -> Callable[[], None]:
        folder = self._folder(topic) / "heard"
        folder.mkdir(parents=True, exist_ok=True)
        task = asyncio.create_task(_hear(folder, callback, _names(folder)))
        self._listeners.add(task)

        def stop() -> None:
            self._listeners.discard(task)
            task.cancel()

        return stop

    async def close(self) -> None:
        listeners, self._listeners = self._listeners, set()
        for one in listeners:
            one.cancel()
        await asyncio.gather(*listeners, return_exceptions=True)

    def _publish(self, message: Message) -> Publication:
        ready = self._folder(message.destination) / "ready"
        if not ready.exists():
            return Refused(f"destination {message.destination} is not there: mkdir -p {ready}")
        if len(message.body) > MESSAGE_MAX:
            size = len(message.body)
            return Refused(f"the body has {size} bytes, the broker takes {MESSAGE_MAX}", permanent=True)
        self._number += 1
        head = json.dumps({"id": message.id, "headers": dict(message.headers)}).encode()
        name = f"{time_ns():020}-{os.getpid()}-{self._number:06}.0"
        _write(ready, name, head + b"\n" + message.body)
        return Confirmed()

    def _folder(self, destination: str) -> Path:
        return self._root / quote(destination, safe="")


class FolderSubscription:
    """One consumer, with a folder of its own for what it has taken."""

    def __init__(self, folder: Path, hold_max: int) -> None:
        self._folder = folder
        self._hold_max = hold_max
        self._own = folder / f"taken-{os.getpid()}-{id(self)}"
        self._own.mkdir()
        self._lock = os.open(self._own / "lock", os.O_CREAT | os.O_RDWR)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._held: set[str] = set()

    async def receive(self, limit: int, wait_s: float) -> Sequence[Delivery]:
        loop = asyncio.get_running_loop()
        end = loop.time() + wait_s
        while True:
            self._rescue()
            found = list(self._take(min(limit, self._hold_max - len(self._held))))
            if found or loop.time() >= end:
                return found
            await asyncio.sleep(LOOK_AGAIN_S)

    async def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        for name in self._answered(deliveries):
            (self._own / name).unlink()

    async def give_back(self, deliveries: Sequence[Delivery]) -> None:
        for name in self._answered(deliveries):
            _give_back(self._own / name, self._folder)

    async def reject(self, deliveries: Sequence[Delivery], reason: str) -> None:
        dead = self._folder / "dead"
        dead.mkdir(exist_ok=True)
        for name in self._answered(deliveries):
            (self._own / name).rename(dead / name)
            (dead / f"{name}.reason").write_text(reason, "utf-8")

    async def close(self) -> None:
        if self._own.exists():
            os.close(self._lock)
            _empty(self._own, self._folder)
            self._held.clear()

    def _take(self, most: int) -> Iterator[Delivery]:
        for name in sorted(_names(self._folder / "ready"))[: max(most, 0)]:
            stem, _, before = name.rpartition(".")
            taken = f"{stem}.{int(before) + 1}"
            try:
                (self._folder / "ready" / name).rename(self._own / taken)
            except FileNotFoundError:
                continue  # Another consumer was quicker.
            self._held.add(taken)
            head, _, body = (self._own / taken).read_bytes().partition(b"\n")
            said = json.loads(head)
            yield Delivery(said["id"], body, said["headers"], int(before) + 1, taken)

    def _answered(self, deliveries: Sequence[Delivery]) -> list[str]:
        names = [str(one.handle) for one in deliveries if one.handle in self._held]
        self._held.difference_update(names)
        return names

    def _rescue(self) -> None:
        """Give back what consumers held that are dead: nobody has their lock."""
        for folder in self._folder.glob("taken-*"):
            if folder == self._own:
                continue
            with suppress(OSError):
                lock = os.open(folder / "lock", os.O_RDWR)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _empty(folder, self._folder)
                finally:
                    os.close(lock)


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def _empty(own: Path, folder: Path) -> None:
    """Give back all that a consumer held, and forget it."""
    for path in own.iterdir():
        if path.name != "lock":
            _give_back(path, folder)
    (own / "lock").unlink()
    own.rmdir()


def _give_back(path: Path, folder: Path) -> None:
    path.rename(folder / "ready" / path.name)


def _write(folder: Path, name: str, content: bytes) -> None:
    """A file that is whole and on the disk when it has its name."""
    part = folder.parent / f".{name}"
    with part.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.rename(folder / name)


async def _hear(folder: Path, callback: Callable[[bytes], None], known: set[str]) -> None:
    while True:
        for name in sorted(_names(folder) - known):
            known.add(name)
            callback((folder / name).read_bytes())
        await asyncio.sleep(LOOK_AGAIN_S)
