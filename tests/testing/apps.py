"""An application that has no store but the bench's, and where its clock begins."""

from datetime import UTC, datetime

from fencepost import Fencepost

NOW = datetime(2026, 3, 1, tzinfo=UTC)
STARTS = "2026-03-01T00:00:00Z"


def make_app() -> Fencepost:
    return Fencepost("sqlite:////nowhere/at/all.db")
