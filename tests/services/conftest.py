"""What the services wrote to the log, as data."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from fencepost.telemetry.logs import FIELDS


class Lines(logging.Handler):
    """Keeps every line as its event and its fields."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[tuple[str, dict[str, object]]] = []
        self.told: list[tuple[str, int]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.kept.append((record.getMessage(), getattr(record, FIELDS, {})))
        self.told.append((record.getMessage(), record.levelno))

    def about(self, event: str) -> list[dict[str, object]]:
        """The fields of every line of that event."""
        return [fields for found, fields in self.kept if found == event]

    def levels(self, event: str) -> list[int]:
        """The level of every line of that event."""
        return [level for found, level in self.told if found == event]


@pytest.fixture
def lines() -> Iterator[Lines]:
    """All lines of the house, whatever the process's own logging looks like."""
    logger, handler = logging.getLogger("fencepost"), Lines()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(level)
