"""Coroutines that never wait, driven to their end without an event loop."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def finish_now(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that only calls what blocks, and so never suspends."""
    try:
        work.send(None)
    except StopIteration as ended:
        result: T = ended.value
        return result
    work.close()
    raise AssertionError("a coroutine over a driver that blocks must not suspend")
