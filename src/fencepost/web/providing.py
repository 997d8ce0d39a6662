"""Values that routes ask for by name."""

from __future__ import annotations

from typing import Any

from litestar.di import Provide


def provided(value: object) -> Provide:
    """The same value for every request."""

    def provide() -> Any:
        return value

    return Provide(provide, sync_to_thread=False)
