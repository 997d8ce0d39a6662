"""Where a secret is kept: in a variable of the environment, or in a file. It is read when it is needed, so
that one that was changed counts from the next time on."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from fencepost.errors import RetryableFailure
from fencepost.telemetry.secrets import LENGTH_MIN

VALUE_LENGTH_MAX = 64 * 1024


@dataclass(frozen=True)
class Source:
    """Where a secret is kept: `env:NAME` or `file:/path`."""

    text: str

    def read(self, name: str) -> str:
        """The value as it is now. It may be there at the next attempt, or at another worker."""
        kind, _, place = self.text.partition(":")
        value = os.environ.get(place) if kind == "env" else _file_text(Path(place))
        if value is None:
            raise RetryableFailure(f"secret {name}: there is no {self.text} for this worker")
        value = value.rstrip("\r\n")
        if not LENGTH_MIN <= len(value) <= VALUE_LENGTH_MAX:
            limits = f"{LENGTH_MIN} to {VALUE_LENGTH_MAX}"
            raise RetryableFailure(f"secret {name}: {self.text}: expected {limits} characters")
        return value


def _file_text(path: Path) -> str | None:
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(VALUE_LENGTH_MAX + 2)
    except (OSError, UnicodeDecodeError):
        return None
