"""One server for all processes of a run of the tests, where several would be too heavy.

The first process that needs it starts it, and the others read of it in a file. A process may end long
before the others. Then it takes the file away, waits until no test uses its server, and stops it; who needs a
server after that starts another.
"""

from __future__ import annotations

import fcntl
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol


class Shareable(Protocol):
    """A server that other processes can be told of."""

    @property
    def details(self) -> Mapping[str, Any]:
        """What they need to know, as JSON can carry it."""
        ...

    def close(self) -> None: ...


class SharedServer:
    """The server of a folder that all processes of the run know."""

    def __init__(self, folder: Path, start: Callable[[], Shareable]) -> None:
        folder.mkdir(exist_ok=True)
        self._starting = folder / "starting"
        self._details = folder / "details.json"
        self._users = folder / "users"
        self._start = start
        self._own: Shareable | None = None

    @contextmanager
    def used(self) -> Iterator[dict[str, Any]]:
        """What to know of a server that is there until the end of the block."""
        with locked(self._starting, fcntl.LOCK_EX):
            if not self._details.exists():
                self._own = self._start()
                self._details.write_text(json.dumps(dict(self._own.details)))
            text = self._details.read_text()
            users = self._users_of(text).open("a")
            fcntl.flock(users, fcntl.LOCK_SH)
        with users:
            yield json.loads(text)

    def close(self) -> None:
        """Stop the server, where it was started here."""
        if self._own is None:
            return
        with locked(self._starting, fcntl.LOCK_EX):
            text = self._details.read_text()
            self._details.unlink()
        with locked(self._users_of(text), fcntl.LOCK_EX):
            self._own.close()

    def _users_of(self, text: str) -> Path:
        """Locked by the tests that use that server."""
        return self._users.with_suffix(f".{zlib.crc32(text.encode())}")


@contextmanager
def locked(path: Path, how: int) -> Iterator[None]:
    """Hold the lock of a file."""
    with path.open("a") as file:
        fcntl.flock(file, how)
        yield
