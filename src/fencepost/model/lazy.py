"""Names that a module offers and other modules define, each imported on first use."""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False  # `typing` alone costs more than `fencepost --version` should.
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def lazy(module: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and the `__dir__` of a module that offers these names; `homes` has the module of
    each."""
    own = vars(sys.modules[module])

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = own[name] = getattr(import_module(homes[name]), name)
        return value

    return load, lambda: sorted({*own, *homes})
