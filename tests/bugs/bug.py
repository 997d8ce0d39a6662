"""A planted bug: a small wrong variant of the real code, switched on for a while, and who must see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

Planted = AbstractContextManager[Any]
"""While it is entered, the bug is there."""


@dataclass(frozen=True)
class Bug:
    """See the module. `caught_by` is an invariant, which the judges of a simulated world must call broken, or
    the node id of a test, which must go red."""

    name: str
    area: str
    trap: str
    """What somebody has fallen into, in a few words."""
    explanation: str
    """What goes wrong in the world."""
    plant: Callable[[], Planted]
    caught_by: str
    seed: int = 0
    """The world that shows it soonest, as far as is known: tried first."""
    hours: float = 0.5

    @property
    def by_a_world(self) -> bool:
        return "::" not in self.caught_by


def bug(
    trap: str, caught_by: str, *, seed: int = 0, hours: float = 0.5
) -> Callable[[Callable[[], Planted]], Bug]:
    """Make a bug of a function that plants it: named by its name, told of by its docstring."""

    def made(plant: Callable[[], Planted]) -> Bug:
        explanation = " ".join((plant.__doc__ or "").split())
        area = plant.__module__.rpartition(".")[2]
        return Bug(plant.__name__, area, trap, explanation, plant, caught_by, seed, hours)

    return made


def bugs_of(area: ModuleType) -> list[Bug]:
    """All bugs of a module, in the order in which they stand there."""
    return [one for one in vars(area).values() if isinstance(one, Bug)]


@contextmanager
def all_of(*patches: Planted) -> Iterator[None]:
    """Several changes that make one bug."""
    with ExitStack() as stack:
        for one in patches:
            stack.enter_context(one)
        yield
