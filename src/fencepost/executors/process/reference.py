"""Where a function lives, so that another process can find it: a module and a name in it.

The worker takes both from the function that was registered, never from a payload.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from fencepost.errors import InvalidSpec, PermanentFailure
from fencepost.executors.binding import FUNCTION_MARK


def home_of(function: Callable[..., Any]) -> tuple[str, str]:
    """The module and the name in it; refused where no other process could find the function."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not module or not name:
        raise _refusal(repr(function), "has no name of its own", "write it as a def in a module")
    if name.rpartition(".")[2] == "<lambda>":
        raise _refusal(name, "is a lambda", "write it as a def in a module")
    if "<locals>" in name:
        raise _refusal(name, "is defined inside a function", "move it to the top of its module")
    if module == "__main__":
        raise _refusal(
            name, "is defined in the script that was started", "move it to a module that can be imported"
        )
    return module, name


def function_at(module: str, name: str) -> Callable[..., Any]:
    """The function that lives there, in this process."""
    found: Any = import_module(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise PermanentFailure(f"{module} has no function {name} when a child process imports it")
    # The name is that of a job, which knows its function.
    function: Callable[..., Any] = getattr(found, FUNCTION_MARK, found)
    return function


def _refusal(name: str, fault: str, remedy: str) -> InvalidSpec:
    return InvalidSpec(f"job {name}: {fault}, where no child process can find it; {remedy}")
