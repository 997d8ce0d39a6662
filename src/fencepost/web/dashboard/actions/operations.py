"""The operations that a form may ask for: every change that people can make, by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from fencepost.operations.catalogue import all_operations
from fencepost.operations.control import Control
from fencepost.operations.operation import Operation


def operation_named(name: str) -> Operation[Any, Any, Any] | None:
    """The operation of that name; None where there is none that changes something."""
    return changes().get(name)


@cache
def changes() -> Mapping[str, Operation[Any, Any, Any]]:
    """What people may change; the verbs of workers outside are not for forms."""
    return {one.name: one for one in all_operations() if one.changes and one.context is Control}
