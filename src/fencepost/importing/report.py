"""What an import says besides its result: what was left out, and what a person must look at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum

from fencepost.errors import UsageError

NAMED_MAX = 10


class Weight(StrEnum):
    """How much a remark matters."""

    LEFT_OUT = "left_out"
    LOOK = "look"
    NOTE = "note"


@dataclass(frozen=True)
class Remark:
    """One thing to know, and where it comes from."""

    weight: Weight
    where: str
    text: str


@dataclass
class Report:
    """All remarks of one import."""

    remarks: list[Remark] = field(default_factory=list)

    def left_out(self, where: str, text: str) -> None:
        """Something that was not carried over."""
        self.remarks.append(Remark(Weight.LEFT_OUT, where, text))

    def look(self, where: str, text: str) -> None:
        """Something that was carried over as well as it goes, and needs a person's eye."""
        self.remarks.append(Remark(Weight.LOOK, where, text))

    def note(self, where: str, text: str) -> None:
        """Something that is as it was, in another form."""
        self.remarks.append(Remark(Weight.NOTE, where, text))

    def count(self, weight: Weight) -> int:
        """How many remarks of one weight there are."""
        return sum(one.weight is weight for one in self.remarks)

    @contextmanager
    def leaving_out(self, where: str) -> Iterator[None]:
        """Whatever is refused within is left out, with the words of the refusal."""
        try:
            yield
        except UsageError as error:
            self.left_out(where, str(error))


@dataclass(frozen=True)
class Imported:
    """The text to keep, the schedules in it, and the report."""

    text: str
    schedules: tuple[str, ...]
    report: Report


def lines(numbers: Iterable[int]) -> str:
    """`line 4`, or `lines 4, 5, 9`."""
    found = list(map(str, numbers))
    return f"line{'s' if len(found) > 1 else ''} {listed(found)}"


def listed(names: list[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    return ", ".join(names[:NAMED_MAX]) + more
