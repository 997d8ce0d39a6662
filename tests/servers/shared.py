"""One server for all processes of a run of the tests, where several would be too heavy.

The first process that needs it starts it, and the others find its ports in a file. A process may end long
before the others. Then it takes the file away, waits until no test uses its server, and stops it; who needs a
server after that starts another.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol


class Ported(Protocol):
    """A server that is known by its ports."""

    @property
    def ports(self) -> Mapping[str, int]: ...

    def close(self) -> None: ...


class SharedServer:
    """The server of a folder that all processes of the run know."""

    def __init__(self, folder: Path, start: Callable[[], Ported]) -> None:
        folder.mkdir(exist_ok=True)
        self._starting = folder / "starting"
        self._ports = folder / "ports.json"
        self._users = folder / "users"
        self._start = start
        self._own: Ported | None = None

    @contextmanager
    def used(self) -> Iterator[dict[str, int]]:
        """The ports of a server that is there until the end of the block."""
        with locked(self._starting, fcntl.LOCK_EX):
            if not self._ports.exists():
                self._own = self._start()
                self._ports.write_text(json.dumps(dict(self._own.ports)))
            text = self._ports.read_text()
            users = self._users_of(text).open("a")
            fcntl.flock(users, fcntl.LOCK_SH)
        with users:
            yield json.loads(text)

    def close(self) -> None:
        """Stop the server, where it was started here."""
        if self._own is None:
            return
        with locked(self._starting, fcntl.LOCK_EX):
            text = self._ports.read_text()
            self._ports.unlink()
        with locked(self._users_of(text), fcntl.LOCK_EX):
            self._own.close()

    def _users_of(self, text: str) -> Path:
        """Locked by the tests that use the server with those ports."""
        return self._users.with_suffix("." + "-".join(str(one) for one in json.loads(text).values()))


@contextmanager
def locked(path: Path, how: int) -> Iterator[None]:
    """Hold the lock of a file."""
    with path.open("a") as file:
        fcntl.flock(file, how)
        yield
