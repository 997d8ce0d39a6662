"""A reader of the tutorial: takes its page from top to bottom, writes its files and types its commands.

What stands below a command is what it must say; `…` is anything within a line, and as a line of its own any
lines. Where the page speaks of Ctrl-C, the worker is stopped.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.cli.forks import ROOT
from tests.cli.processes import SIGINT, Process, clean_environment

PAGE = ROOT / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"# (\w+\.py)\n")
SERVES = "fencepost run "
LOOKS = ("fencepost why", "fencepost runs", "fencepost audit")
"""Commands that only look: what they show may take a moment to come true."""
PATIENCE_S = 60.0
INSTALL_S = 600.0


class Typed(NamedTuple):
    """A command, and what it is expected to say."""

    command: str
    expected: str


class File(NamedTuple):
    """A file that the reader writes."""

    name: str
    text: str


class Stop(NamedTuple):
    """Ctrl-C in the terminal of the worker."""


Step = Typed | File | Stop


def steps() -> Iterator[Step]:
    """All that the page has the reader do, in order."""
    text, place = PAGE.read_text("utf-8"), 0
    for block in BLOCK.finditer(text):
        if "Ctrl-C" in text[place : block.start()]:
            yield Stop()
        place = block.end()
        language, body = block.groups()
        if language == "python":
            named = NAMED.match(body)
            assert named is not None, body
            yield File(named[1], body)
        else:
            assert language == "console", language
            assert body.startswith("$ "), body
            for command in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
                words, _, expected = command.partition("\n")
                yield Typed(words, expected)


def expression(expected: str) -> re.Pattern[str]:
    """What fits the expected text, however wide its columns are."""
    lines = [r"(?:.*\n)*?" if line.strip() == "…" else _line(line) for line in expected.splitlines()]
    return re.compile("".join(lines))


def _line(line: str) -> str:
    words = (".*".join(map(re.escape, word.split("…"))) for word in line.split())
    return r"[ ]*" + r"[ ]+".join(words) + r"[ ]*\n"


class Served(Process):
    """A command that serves, in a terminal of its own."""

    apart = True

    def _started(
        self, arguments: tuple[str, ...], folder: Path, environment: dict[str, str]
    ) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["bash", "-c", f"exec {arguments[0]}"],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def wait_until_fits(self, expected: str) -> None:
        """Until it has begun with what is expected."""
        fits = expression(expected)
        while not fits.match(f"{self.said}\n"):
            self.wait_for("")


class Reader:
    """The one who reads, with a folder and two terminals."""

    def __init__(self, folder: Path, path: str, replaced: Mapping[str, str]) -> None:
        self.folder = folder
        self.folder.mkdir()
        self.worker: Served | None = None
        self._environment = {**clean_environment(), "PATH": path}
        self._replaced = replaced

    def follow(self, step: Step) -> None:
        """Do what the page says, and see that it is answered as the page says."""
        match step:
            case File(name, text):
                (self.folder / name).write_text(text, "utf-8")
            case Stop():
                self.stop()
            case Typed(command, expected) if command.startswith(SERVES):
                self.worker = Served((self._meant(command),), self.folder, self._environment)
                self.worker.wait_until_fits(self._meant(expected))
            case Typed(command, expected):
                again = command.startswith(LOOKS)
                self._type(self._meant(command), self._meant(expected), PATIENCE_S if again else 0.0)

    def stop(self) -> None:
        """Press Ctrl-C, where a worker runs, and see it end well."""
        worker, self.worker = self.worker, None
        if worker is not None:
            try:
                worker.signal(SIGINT)
                assert worker.ended() == 0, worker.said
            finally:
                worker.close()

    def close(self) -> None:
        """Leave nothing running."""
        if self.worker is not None:
            self.worker.close()

    def _meant(self, text: str) -> str:
        for said, meant in self._replaced.items():
            text = text.replace(said, meant)
        return text

    def _type(self, command: str, expected: str, patience_s: float) -> None:
        fits, until = expression(expected), time.monotonic() + patience_s
        while not fits.fullmatch(said := self._say(command)):
            assert time.monotonic() < until, f"$ {command}\n{said}\nexpected:\n{expected}"

    def _say(self, command: str) -> str:
        """What a command says on both streams; the shell's variables stay for the next one."""
        kept = self.folder.parent / "environment"
        done = subprocess.run(
            ["bash", "-c", f"{command}\nstatus=$?; env -0 > '{kept}'; exit $status"],
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=INSTALL_S,
            check=False,
        )
        said = kept.read_text("utf-8").rstrip("\0").split("\0")
        self._environment = dict(one.split("=", 1) for one in said)
        return done.stdout


def path_with(*folders: Path) -> str:
    """A search path that begins with these."""
    return os.pathsep.join([*map(str, folders), os.environ["PATH"]])


def answered(command: str) -> Callable[[str], bool]:
    """Whether a text is what the page expects of one of the times that it says the command."""
    fits = [expression(one.expected) for one in steps() if isinstance(one, Typed) and one.command == command]
    assert fits, command
    return lambda said: any(one.fullmatch(said) for one in fits)
