"""The pages of the public Python names: what a page says first is the module's docstring, the rest autodoc's.

A public name, a public method or a public property without a docstring is a fault of the build.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

PYTHON_PAGE = "docs/reference/python.md"
MODULES = (
    "fencepost",
    "fencepost.contrib.celery",
    "fencepost.contrib.django",
    "fencepost.contrib.fastapi",
    "fencepost.contrib.sqlalchemy",
    "fencepost.guards",
    "fencepost.testing",
    "fencepost.testing.plugin",
)


def python_pages() -> dict[str, str]:
    """The text of each module's page, by its name."""
    return {name: _page(name) for name in MODULES}


def public(module: ModuleType) -> dict[str, Any]:
    """The names that a module offers: those of `__all__`, or those that it defines."""
    names = getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]
    return {name: getattr(module, name) for name in names if not name.startswith("_")}


def undocumented() -> list[str]:
    """Every public name without a docstring."""
    return [
        path
        for name in MODULES
        for path, value in reachable(importlib.import_module(name))
        if not (inspect.getdoc(value) or "").strip()
    ]


def reachable(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """A public module, its names, and the public methods and properties of these, each with its path."""
    yield module.__name__, module
    for name, value in public(module).items():
        yield f"{module.__name__}.{name}", value
        if inspect.isclass(value):
            yield from ((f"{module.__name__}.{name}.{member}", one) for member, one in _members(value))


def _members(owner: type) -> Iterator[tuple[str, Any]]:
    for name, value in vars(owner).items():
        if not name.startswith("_") and (inspect.isroutine(value) or isinstance(value, property)):
            yield name, value


def _page(name: str) -> str:
    module = importlib.import_module(name)
    parts = [f"# `{name}`\n", inspect.getdoc(module) or "", f"\n```{{py:module}} {name}\n```\n"]
    for member, value in public(module).items():
        kind = "class" if inspect.isclass(value) else "function" if callable(value) else "data"
        if isinstance(value, type) and issubclass(value, BaseException):
            kind = "exception"
        parts.append(f"## `{member}`\n\n```{{eval-rst}}\n.. auto{kind}:: {name}.{member}\n```\n")
    return "\n".join(parts)
