"""Contenders measured in turns: each step in a process of its own, on a database of its own, on one server.

A contender is a script that does what `peers/measuring.py` says. Every step has a time limit. Processes that
a step leaves behind are killed with its session, also on Ctrl-C.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from threading import Timer
from typing import IO, Any

from benchmarks.peers.measuring import Answer, Options
from benchmarks.report import heading
from tests.servers.postgres import PostgresServer

PEERS = Path(__file__).parent / "peers"
LIMIT_S = 300.0
STATEMENTS = """
SELECT ARRAY[coalesce(sum(calls), 0), coalesce(sum(total_exec_time), 0)]::float8[]
FROM pg_stat_statements
WHERE dbid = (SELECT oid FROM pg_database WHERE datname = '{name}')
"""
COMMITS = "SELECT pg_stat_get_db_xact_commit(oid) FROM pg_database WHERE datname = '{name}'"


def script(name: str, python: str = sys.executable) -> tuple[str, ...]:
    """How a script of `peers/` is called."""
    return python, str(PEERS / f"with_{name}.py")


def module(name: str) -> tuple[str, ...]:
    """How a script of this folder is called."""
    return sys.executable, "-m", f"benchmarks.{name}"


class StepFailed(Exception):
    """A step ended with an error, or not in time; the text is its last line."""


@dataclass(frozen=True)
class Contender:
    """A script, and the Python that it runs with."""

    name: str
    command: tuple[str, ...]
    table: str = ""
    """Of a bare loop: the one that it works on."""

    @contextmanager
    def process(self, step: str, options: Options, limit_s: float = LIMIT_S) -> Iterator[Running]:
        """One step under way."""
        with tempfile.TemporaryFile() as log:
            process = subprocess.Popen(
                [*self.command, step, json.dumps(asdict(replace(options, table=self.table)))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
                env=os.environ | {"PYTHONDONTWRITEBYTECODE": ""},
            )
            timer = Timer(limit_s, _kill, [process.pid])
            timer.start()
            try:
                yield Running(f"{self.name}, {step}", process, log)
            finally:
                timer.cancel()
                _kill(process.pid)
                process.communicate()

    def take(self, step: str, options: Options, limit_s: float = LIMIT_S) -> Answer:
        """One step from its beginning to its end."""
        with self.process(step, options, limit_s) as running:
            running.go()
            return running.answer()


@dataclass(frozen=True)
class Running:
    """A process of a contender."""

    what: str
    process: subprocess.Popen[str]
    log: IO[bytes]

    def until_ready(self) -> None:
        """It has said that it waits."""
        assert self.process.stdout is not None
        if self.process.stdout.readline().strip() != "ready":
            raise StepFailed(f"{self.what}: {self._last_words()}")

    def go(self) -> None:
        """Tell it to go on, now or as soon as it asks."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.write("\n")
            self.process.stdin.flush()

    def answer(self) -> Answer:
        """What it found out."""
        assert self.process.stdout is not None
        lines = [line for line in self.process.stdout.read().splitlines() if line != "ready"]
        if self.process.wait() != 0 or not lines:
            raise StepFailed(f"{self.what}: {self._last_words()}")
        answer: Answer = json.loads(lines[-1])
        return answer

    def _last_words(self) -> str:
        self.log.seek(0)
        lines = self.log.read().decode(errors="replace").split("\n")
        told = [line for line in lines if line.strip()]
        return told[-1][:300] if told else f"ended with {self.process.poll()} and no word"


@dataclass
class Ground:
    """A private PostgreSQL with fsync and synchronous commit, and one database for each try."""

    server: PostgresServer = field(
        default_factory=lambda: PostgresServer(durable=True, shared_preload_libraries="pg_stat_statements")
    )

    def __post_init__(self) -> None:
        self.server.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")

    @contextmanager
    def database(self) -> Iterator[str]:
        """Empty, and gone afterwards."""
        url = self.server.create_empty_database()
        try:
            yield url
        finally:
            self.server.drop_database(url)

    def options(self, url: str, **more: Any) -> Options:
        """Those of a step on this server."""
        return Options(url, self.server.pid, **more)

    def settle(self, url: str) -> None:
        """Nothing is owed before what is measured begins: the same for every contender."""
        self.server.execute("VACUUM ANALYZE", url)
        self.server.execute("CHECKPOINT")

    def take(self, contender: Contender, step: str, url: str, **more: Any) -> Answer:
        """A step that is measured, with what the server counts beside it."""
        heading(f"{contender.name}: {step} {more.get('count', '')}{' tuned' if more.get('tuned') else ''}")
        self.settle(url)
        before = self._counted(url)
        answer = contender.take(step, self.options(url, **more))
        calls, spent_ms = (now - then for now, then in zip(self._counted(url), before, strict=True))
        count = more.get("count") or 1
        return answer | {"statements": calls / count, "executed_us": spent_ms * 1000 / count}

    def commits(self, url: str) -> float:
        """Transactions that ended in this database."""
        return float(self.server.ask(COMMITS.format(name=_name(url))))

    def statements(self, url: str) -> float:
        """Statements that were run in this database."""
        return self._counted(url)[0]

    def _counted(self, url: str) -> list[float]:
        counted: list[float] = self.server.ask(STATEMENTS.format(name=_name(url)))
        return counted


OURS = Contender("fencepost", script("fencepost"))


def middle(answers: Sequence[Answer]) -> Answer:
    """The median of each figure."""
    return {name: statistics.median([one[name] for one in answers]) for name in answers[0]}


@contextmanager
def together(contender: Contender, step: str, options: Options, processes: int) -> Iterator[list[Running]]:
    """Some processes of one contender that begin at the same moment."""
    with ExitStack() as stack:
        all_of_them = [stack.enter_context(contender.process(step, options)) for _ in range(processes)]
        for one in all_of_them:
            one.until_ready()
        for one in all_of_them:
            one.go()
        yield all_of_them


def _name(url: str) -> str:
    return url.rpartition("/")[2]


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
