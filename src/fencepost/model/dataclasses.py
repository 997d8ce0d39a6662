"""`dataclass(frozen=True)` as the standard library has it, with slots or without, in a tenth of the time.

The standard decorator compiles six functions for each class, which was a third of the time of every command.
It also sets every field of a frozen instance by a call, which a worker pays for each run. This one compiles
only `__init__`, when the first instance is made, and that assigns. Comparing, hashing and showing are the
same few functions for all classes. The type checker sees the standard decorator and refuses an assignment to
a field; the running program does not. Values that users make and keep, as triggers, are standard dataclasses.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls: type | None = None, /, **terms: bool) -> Any:
        """Only frozen values are made in the short way."""
        short = terms in ({"frozen": True}, {"frozen": True, "slots": True})
        make = partial(_made, "slots" in terms) if short else dataclasses.dataclass(**terms)
        return make if cls is None else make(cls)


class _Init:
    """The `__init__` of a class, which is compiled when it is first asked for."""

    def __init__(self, cls: Any) -> None:
        self._cls = cls

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        init = self._cls.__init__ = _compiled_init(self._cls)
        return init if instance is None else init.__get__(instance, owner)


def _compiled_init(cls: Any) -> Any:
    """The `__init__` of a standard class with the same fields."""
    fields = [(one.name, one.type, one) for one in dataclasses.fields(cls)]
    after = {"__post_init__": cls.__post_init__} if hasattr(cls, "__post_init__") else {}
    twin: Any = dataclasses.make_dataclass(cls.__name__, fields, namespace=after, eq=False, repr=False)
    twin.__init__.__qualname__ = f"{cls.__qualname__}.__init__"
    return twin.__init__


def _made(slots: bool, given: type) -> Any:
    own = dict(vars(given))
    cls: Any = dataclasses.dataclass(init=False, eq=False, repr=False, slots=slots)(given)
    cls.__init__ = _Init(cls)
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
