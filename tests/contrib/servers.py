"""Python programs that serve: started, listened to, signalled, and never left behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.cli.processes import SIGKILL, Process


class Program(Process):
    """As a `fencepost` process, of another program, which may have children."""

    head = ()
    apart = True

    def close(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, SIGKILL)
        super().close()


@contextmanager
def program(*arguments: str, folder: Path, **environment: str) -> Iterator[Program]:
    """A process that is killed at the end if it still runs."""
    process = Program(arguments, folder, environment)
    try:
        yield process
    finally:
        process.close()
