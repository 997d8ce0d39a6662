"""Hints between the processes of one host, by Unix datagram sockets.

Every event loop that listens binds a socket in a private folder that belongs to the database and the user;
a hint is one datagram to each socket found there. Nothing is queued for those who are away and nothing
waits: a datagram that cannot be sent is dropped, because the listeners' own poll is the net. A full socket
has hints in it already. A socket that refuses belongs to a process that is gone, and is removed.

A socket is bound under a hidden name and then renamed, so that no process meets it half made and takes it for
a dead one. This process's own listeners are told in the same way as those of others.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import secrets
import socket
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from pathlib import Path

from fencepost.ports.signals import Topic

BIND_TRIES_MAX = 5
DATAGRAMS_MAX = 256
DATAGRAM_BYTES_MAX = 16

log = logging.getLogger(__name__)


class SqliteSignals:
    """See `ports.signals`."""

    are_connected = False

    def __init__(self, database: Path) -> None:
        self._folder = folder_of(database)
        self._sender: socket.socket | None = None
        self._listeners: dict[asyncio.AbstractEventLoop, _Listener] = {}

    async def listen(self, topic: Topic, callback: Callable[[], None]) -> Callable[[], None]:
        loop = asyncio.get_running_loop()
        listener = self._listeners.get(loop) or self._listeners.setdefault(
            loop, _Listener(self._folder, loop)
        )
        entry = (topic, callback)
        listener.entries.append(entry)

        def stop() -> None:
            with suppress(ValueError):
                listener.entries.remove(entry)
            if not listener.entries and self._listeners.get(loop) is listener:
                self._listeners.pop(loop).close()

        return stop

    def hint(self, topic: Topic) -> None:
        """Tell all listeners that something of this kind may have changed."""
        with suppress(OSError):
            for path in self._folder.iterdir():
                if not path.name.startswith("."):
                    self._send(path, topic)

    def close(self) -> None:
        """Stop listening, and leave nothing behind."""
        for listener in list(self._listeners.values()):
            listener.close()
        self._listeners.clear()
        if self._sender is not None:
            self._sender.close()
            self._sender = None

    def _send(self, path: Path, topic: Topic) -> None:
        if self._sender is None:
            self._sender = _datagram_socket()
        try:
            self._sender.sendto(topic.encode(), str(path))
        except ConnectionRefusedError:
            _remove(path)
        except OSError:
            log.debug("a hint to %s was dropped", path, exc_info=True)


class _Listener:
    """The socket of one event loop and those who wait at it."""

    def __init__(self, folder: Path, loop: asyncio.AbstractEventLoop) -> None:
        self.entries: list[tuple[Topic, Callable[[], None]]] = []
        self._loop = loop
        self._socket = _datagram_socket()
        self._path: Path | None = None
        try:
            self._path = _bind(self._socket, folder)
        except OSError as error:
            log.warning("no hints from other processes, the poll must do: %s", error)
        loop.add_reader(self._socket, self._hear)

    def close(self) -> None:
        if not self._loop.is_closed():
            self._loop.remove_reader(self._socket)
        self._socket.close()
        if self._path is not None:
            _remove(self._path)

    def _hear(self) -> None:
        heard = set(islice(iter(self._receive, None), DATAGRAMS_MAX))
        for topic, callback in list(self.entries):
            if topic.encode() in heard:
                callback()

    def _receive(self) -> bytes | None:
        try:
            return self._socket.recv(DATAGRAM_BYTES_MAX)
        except OSError:
            return None


def folder_of(database: Path) -> Path:
    """The folder of the sockets of a database, for this user."""
    owner = f"{os.geteuid()}:{os.path.realpath(database)}"
    digest = hashlib.blake2b(owner.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    return Path(tempfile.gettempdir(), f"fencepost-{digest}")


def _bind(listener: socket.socket, folder: Path) -> Path:
    """Bind under a name of our own. The folder may vanish meanwhile: the last to leave removes it."""
    name = f"{os.getpid()}-{secrets.token_hex(4)}"
    for _ in range(BIND_TRIES_MAX):
        _make_private(folder)
        with suppress(FileNotFoundError):
            listener.bind(str(folder / f".{name}"))
            (folder / f".{name}").rename(folder / name)
            return folder / name
    raise OSError(f"{folder} vanishes again and again")


def _make_private(folder: Path) -> None:
    """Make the folder, or see that it is this user's alone: a public folder for temporary files is shared."""
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    private = stat.S_ISDIR(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o700
    if not private or found.st_uid != os.geteuid():
        raise PermissionError(f"{folder} is not a private folder of this user")


def _remove(path: Path) -> None:
    """Take a socket away, and the folder with the last of them."""
    with suppress(OSError):
        path.unlink(missing_ok=True)
        path.parent.rmdir()


def _datagram_socket() -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    made.setblocking(False)
    return made
