"""The processors of the examples as processes, beside a real broker and a real worker."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calls import called, called_json
from tests.cli.processes import Process, started
from tests.examples.programs import EXAMPLES

PROCESSORS = EXAMPLES / "processors"
BUILD = EXAMPLES.parent / "build" / "processors"
FETCH_TIMEOUT_S = 300
NOT_HERE = re.compile(
    r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|dial tcp|no such host|i/o timeout|requires go >="
)
HASTY = {
    "FENCEPOST_HEARTBEAT_EVERY_S": "0.5",
    "FENCEPOST_HEARTBEAT_TIMEOUT_S": "5",
    "FENCEPOST_REAP_EVERY_S": "0.2",
    "FENCEPOST_POLL_S": "0.2",
}


class Program(Process):
    """One in any language."""

    def _started(
        self, arguments: tuple[str, ...], folder: Path, environment: dict[str, str]
    ) -> subprocess.Popen[str]:
        return subprocess.Popen(
            arguments,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


def python_command(transport: str) -> tuple[str, ...]:
    return sys.executable, str(PROCESSORS / "python" / f"over_{transport}.py")


def node_command(transport: str) -> tuple[str, ...]:
    node, npm = needed("node", "apt-get install nodejs"), needed("npm", "apt-get install npm")
    sources = sorted((PROCESSORS / "node").glob("*"))
    place = BUILD / f"node-{digest(sources)}"
    with locked(place):
        if not (place / "node_modules").exists():
            shutil.copytree(PROCESSORS / "node", place, dirs_exist_ok=True)
            fetch([npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"], place)
    return node, str(place / f"over_{transport}.mjs")


def go_command(transport: str) -> tuple[str, ...]:
    go, sources = needed("go", "a package of your system, go 1.25 or newer"), PROCESSORS / "go"
    program = BUILD / f"go-over_{transport}-{digest(sorted(sources.rglob('*')))}"
    with locked(program):
        if not program.exists():
            command = [go, "build", "-mod=readonly", "-o", str(program), f"./over_{transport}"]
            fetch(command, sources, GOTOOLCHAIN="local", GOWORK="off")
    return (str(program),)


def needed(program: str, advice: str) -> str:
    """Where a program is; where it is not, the test is skipped."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"no {program}; get it with: {advice}")
    return found


def digest(sources: Sequence[Path]) -> str:
    """A name for what is made of these files."""
    return sha256(b"".join(one.read_bytes() for one in sources if one.is_file())).hexdigest()[:12]


@contextmanager
def locked(place: Path) -> Iterator[None]:
    """The processes of one run of the tests fetch one after the other."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.with_suffix(".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def fetch(command: Sequence[str], folder: Path, **environment: str) -> None:
    """Run what fetches packages; without a network, or with an old compiler, the test is skipped."""
    ended = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=FETCH_TIMEOUT_S,
    )
    said = ended.stdout + ended.stderr
    if ended.returncode and NOT_HERE.search(said):
        last = said.strip().splitlines()[-1]
        pytest.skip(f"{command[0]} cannot fetch its packages; run it once where they can be had: {last}")
    assert ended.returncode == 0, said


COMMANDS: dict[str, Callable[[str], tuple[str, ...]]] = {
    "python": python_command,
    "node": node_command,
    "go": go_command,
}
"""How a processor is started in each language, with all that it needs."""


class Scene:
    """A worker of the example's jobs, what it has in its ledger, and processors."""

    def __init__(self, worker: Process, store: str, broker: str, command: tuple[str, ...]) -> None:
        self.worker = worker
        self._store = store
        self._broker = broker
        self._command = command

    @contextmanager
    def processor(self) -> Iterator[Process]:
        process = Program((*self._command, self._broker, "thumbs"), EXAMPLES, {})
        try:
            process.wait_for("ready")
            yield process
        finally:
            process.close()

    def enqueue(self, key: str, payload: str) -> str:
        called("enqueue", "thumbs", "--key", key, "--payload", payload, "--store", self._store)
        return f"thumbs#{key}"

    def cancel(self, run_key: str) -> None:
        called("runs", "cancel", run_key, "--store", self._store)

    def shown(self, run_key: str) -> Any:
        return called_json("runs", "show", run_key, "--store", self._store)


@contextmanager
def scene(folder: Path, broker: str, command: tuple[str, ...]) -> Iterator[Scene]:
    """The worker has declared its destinations when this is entered."""
    store = f"sqlite:///{folder / 'runs.db'}"
    arguments = ("worker", str(PROCESSORS / "shop.toml"), "--store", store, "--broker", broker)
    with started(*arguments, folder=folder, **HASTY) as worker:
        worker.wait_for("works")
        yield Scene(worker, store, broker, command)
