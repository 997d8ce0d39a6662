"""`dataclass(frozen=True, slots=True)` as the standard library has it, made and instantiated in a third of
the time.

The standard one compiles six functions for each class, which was half of the time of `import fencepost`, and
sets every field of a frozen instance by a call, which a worker pays for each run. Here only `__init__` is
compiled, and it assigns; comparing, hashing and showing are the same few functions for all classes. The type
checker sees the standard decorator and refuses an assignment to a field; the running program does not. Values
that users make and keep, as triggers, are standard dataclasses.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls: type | None = None, /, **terms: bool) -> Any:
        """Only values, frozen and with slots, are made in the short way."""
        make = _made if terms == {"frozen": True, "slots": True} else dataclasses.dataclass(**terms)
        return make if cls is None else make(cls)


def _made(given: type) -> Any:
    own = dict(vars(given))
    cls: Any = dataclasses.dataclass(eq=False, repr=False, slots=True)(given)
    fields = dataclasses.fields(cls)
    compared = _reader([one.name for one in fields if one.compare])
    shown = [one.name for one in fields if one.repr]

    def equal(self: Any, other: Any) -> bool:
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: Any) -> int:
        return hash(compared(self))

    def told(self: Any) -> str:
        inner = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{self.__class__.__qualname__}({inner})"

    for name, function in (("__eq__", equal), ("__hash__", hashed), ("__repr__", told)):
        if own.get(name) is None:
            setattr(cls, name, function)
    return cls


def _reader(names: list[str]) -> Callable[[Any], Any]:
    return attrgetter(*names) if names else lambda _: ()
