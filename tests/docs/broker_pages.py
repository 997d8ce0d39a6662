"""The commands of a broker's page, followed by a reader who has the server at another address."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.cli.calls import called, called_json
from tests.cli.processes import SIGTERM, Process
from tests.cli.processes import started as process_started
from tests.docs.test_brokers_guide import EXAMPLES
from tests.examples.programs import LOOKS_MAX, PAUSE_S

GUIDES = Path(__file__).parents[2] / "docs/guides/brokers"


class Page:
    """One page: its commands, and the files and rights that it tells the reader to give the server."""

    def __init__(self, kind: str) -> None:
        self.text = (GUIDES / f"{kind}.md").read_text("utf-8")
        self._blocks = re.findall(r"^```(\w*)\n(.*?)^```$", self.text, re.MULTILINE | re.DOTALL)

    def block(self, beginning: str) -> str:
        """The one block without a language that begins so."""
        (found,) = [one for language, one in self._blocks if not language and one.startswith(beginning)]
        return str(found)

    def commands(self, place: str, address: str) -> list[list[str]]:
        """What follows `$ fencepost`, with the server's address where the page has `place`."""
        (block,) = [one for language, one in self._blocks if language == "console"]
        lines = [one.removeprefix("$ fencepost ") for one in block.splitlines()]
        assert any(place in one for one in lines), place
        return [shlex.split(one.replace(place, address)) for one in lines]


@contextmanager
def serving(commands: list[list[str]], folder: Path) -> Iterator[list[Process]]:
    """The worker and the processor, ready, and stopped at the end."""
    with ExitStack() as stack:
        processes = []
        for words in commands:
            processes.append(stack.enter_context(process_started(*words, folder=folder)))
            processes[-1].wait_for(" started ")
        yield processes
        for process in processes:
            process.signal(SIGTERM)
        for process in processes:
            assert process.ended() == 0, process.said


def follow(commands: list[list[str]], folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Do what the page says and see its run succeed; what the processes said."""
    shutil.copy(EXAMPLES / "shop.py", folder)
    monkeypatch.chdir(folder)
    worker, processor, enqueue, show = commands
    assert [worker[0], processor[0], enqueue[0], *show[:2]] == [
        *("worker", "processor", "enqueue", "runs", "show")
    ]
    with serving([worker, processor], folder) as processes:
        called(*enqueue)
        shown = ended(show)
    assert (shown["state"], shown["attempt"]) == ("succeeded", 1), shown
    assert '"number":"2026-00007"' in shown["attempts"][0]["output"]
    return "\n".join(process.said for process in processes)


def ended(show: list[str]) -> dict[str, Any]:
    """The page's run, once it has ended."""
    pause, shown = Event(), dict[str, Any]()
    for _ in range(LOOKS_MAX):
        shown = dict(called_json(*show))
        if shown["finished_at"]:
            return shown
        pause.wait(PAUSE_S)
    raise AssertionError(f"the run does not end: {shown}")
