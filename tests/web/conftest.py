"""The web on a store in memory."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.web.door import Door
from tests.web.house import Web
from tests.web.serving import certified


class Kept(logging.Handler):
    """Keeps every line."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
async def web() -> Web:
    made = Web()
    await made.open()
    return made


@pytest.fixture
def lines() -> Iterator[list[logging.LogRecord]]:
    """What the web wrote to the log, whatever the process's own logging looks like."""
    yield from kept("fencepost.web")


@pytest.fixture
def work_lines() -> Iterator[list[logging.LogRecord]]:
    """What the verbs of workers outside wrote to the log."""
    yield from kept("fencepost.work")


def kept(name: str) -> Iterator[list[logging.LogRecord]]:
    handler = Kept()
    logger = logging.getLogger(name)
    logger.addHandler(handler)
    yield handler.records
    logger.removeHandler(handler)


@pytest.fixture
def url(tmp_path: Path) -> str:
    """The address of a store that is not there yet."""
    return f"sqlite:///{tmp_path / 'store.db'}"


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("FENCEPOST_")]:
        if not name.startswith("FENCEPOST_TEST_"):
            monkeypatch.delenv(name)


@pytest.fixture
def door() -> Door:
    return Door()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return certified(tmp_path_factory.mktemp("tls"))
