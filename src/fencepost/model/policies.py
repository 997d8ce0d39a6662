"""Policies: what a schedule does with late or long runs: overlap, catch-up, and the gate that holds it
back."""

from __future__ import annotations

import re
from datetime import timedelta
from enum import StrEnum
from typing import ClassVar, Literal, TypeAlias, TypeVar

from fencepost.errors import InvalidSpec
from fencepost.model.dataclasses import dataclass
from fencepost.model.durations import Duration, parse_duration
from fencepost.model.quoting import quoted

E = TypeVar("E", bound=StrEnum)

BUFFER_MAX = 50
"""How many ticks `buffer_all` keeps waiting at most; also its default."""
AT_ONCE_MAX = 1_000
WAITING_MAX = 10_000
OF_LAST_MAX = 100

_WITH_NUMBER = re.compile(r"([a-z_]+)(?:\(\s*([0-9]{1,6})\s*\))?", re.ASCII)


class OverlapKind(StrEnum):
    """What a tick does when an earlier run of its schedule is unfinished."""

    SKIP = "skip"
    BUFFER_ONE = "buffer_one"
    BUFFER_ALL = "buffer_all"
    CANCEL_OTHER = "cancel_other"
    TERMINATE_OTHER = "terminate_other"
    ALLOW = "allow"


_NUMBER_MAX = {OverlapKind.ALLOW: AT_ONCE_MAX, OverlapKind.BUFFER_ALL: BUFFER_MAX}


class _Named:
    """The policies without a number, under their own names."""

    SKIP: ClassVar[Overlap]
    BUFFER_ONE: ClassVar[Overlap]
    BUFFER_ALL: ClassVar[Overlap]
    CANCEL_OTHER: ClassVar[Overlap]
    TERMINATE_OTHER: ClassVar[Overlap]
    ALLOW: ClassVar[Overlap]


@dataclass(frozen=True)
class Overlap(_Named):
    """An overlap policy. `number` is how many may run at once (`allow`) or wait (`buffer_all`), where the
    policy gives a number."""

    kind: OverlapKind
    number: int | None = None

    @property
    def at_once_max(self) -> int | None:
        """How many runs of the schedule may be unfinished at a time; None where there is no limit."""
        return self.number if self.kind is OverlapKind.ALLOW else 1

    @property
    def waiting_max(self) -> int:
        """How many ticks may wait for their turn."""
        match self.kind:
            case OverlapKind.BUFFER_ALL:
                return self.number or BUFFER_MAX
            case OverlapKind.BUFFER_ONE | OverlapKind.CANCEL_OTHER:
                return 1
            case _:
                return 0

    @classmethod
    def allow(cls, at_once_max: int) -> Overlap:
        """At most `at_once_max` runs of the schedule at a time."""
        return parse_overlap(f"allow({at_once_max})")

    @classmethod
    def buffer_all(cls, waiting_max: int) -> Overlap:
        """At most `waiting_max` ticks wait for their turn."""
        return parse_overlap(f"buffer_all({waiting_max})")

    def __str__(self) -> str:
        return str(self.kind) if self.number is None else f"{self.kind}({self.number})"


Overlap.SKIP = Overlap(OverlapKind.SKIP)
Overlap.BUFFER_ONE = Overlap(OverlapKind.BUFFER_ONE)
Overlap.BUFFER_ALL = Overlap(OverlapKind.BUFFER_ALL)
Overlap.CANCEL_OTHER = Overlap(OverlapKind.CANCEL_OTHER)
Overlap.TERMINATE_OTHER = Overlap(OverlapKind.TERMINATE_OTHER)
Overlap.ALLOW = Overlap(OverlapKind.ALLOW)

_OVERLAP_KINDS = {str(kind): kind for kind in OverlapKind}
OverlapWord: TypeAlias = Literal[
    "skip", "buffer_one", "buffer_all", "cancel_other", "terminate_other", "allow"
]
"""The words that a type checker accepts in code; `Overlap.allow(3)` gives a number."""
CatchUpWord: TypeAlias = Literal["none", "latest", "sequential"]
"""The same for catch-up; `CatchUp("parallel(3)")` gives a number."""
OVERLAPS = tuple(Overlap(kind) for kind in OverlapKind)
OVERLAP_WORDS = "skip, buffer_one, buffer_all, buffer_all(n), cancel_other, terminate_other, allow, allow(n)"


def parse_overlap(text: str | Overlap) -> Overlap:
    """The overlap policy of that name, or a refusal that lists them."""
    if isinstance(text, Overlap):
        return text
    name, number = _split("overlap", text, OVERLAP_WORDS)
    kind = _OVERLAP_KINDS.get(name)
    if kind is None:
        raise InvalidSpec(f"overlap {quoted(text)}: expected one of {OVERLAP_WORDS}")
    if number is not None and not 1 <= number <= _NUMBER_MAX.get(kind, 0):
        raise InvalidSpec(f"overlap {quoted(text)}: {_number_rule(kind)}")
    return Overlap(kind, number)


def _number_rule(kind: OverlapKind) -> str:
    most = _NUMBER_MAX.get(kind)
    return f"{kind} takes no number" if most is None else f"{kind} takes a number from 1 to {most}"


class CatchUpMode(StrEnum):
    """What happens to ticks that no worker ran in time."""

    NONE = "none"
    LATEST = "latest"
    SEQUENTIAL = "sequential"
    PARALLEL = "parallel"


LATENESS_DEFAULT = {
    CatchUpMode.NONE: timedelta(minutes=1),
    CatchUpMode.LATEST: timedelta(hours=1),
    CatchUpMode.SEQUENTIAL: timedelta(hours=1),
    CatchUpMode.PARALLEL: timedelta(hours=1),
}
_MODES = {str(mode): mode for mode in CatchUpMode}
CATCH_UP_WORDS = "none, latest, sequential, parallel(n)"


@dataclass(frozen=True)
class GateTerms:
    """When catch-up is held back: when more than `waiting_max` ticks wait, or when more than `failed_share`
    of the `of_last` runs that ended last failed."""

    waiting_max: int = 1_000
    failed_share: float = 0.5
    of_last: int = 10

    def __post_init__(self) -> None:
        if not 1 <= self.waiting_max <= WAITING_MAX:
            raise InvalidSpec(f"gate: waiting_max {self.waiting_max} is not within 1-{WAITING_MAX}")
        if not 0 <= self.failed_share <= 1:
            raise InvalidSpec(f"gate: failed_share {self.failed_share} is not within 0-1")
        if not 1 <= self.of_last <= OF_LAST_MAX:
            raise InvalidSpec(f"gate: of_last {self.of_last} is not within 1-{OF_LAST_MAX}")


_GATE = GateTerms()


@dataclass(frozen=True, init=False)
class CatchUp:
    """How late a tick may start, which of several late ticks still start, and when the gate closes."""

    mode: CatchUpMode
    max_lateness: timedelta
    at_once: int
    """How many late ticks may run at a time."""
    gate: GateTerms

    def __init__(
        self,
        mode: str = CatchUpMode.NONE,
        max_lateness: Duration | None = None,
        gate: GateTerms | None = None,
    ) -> None:
        chosen, at_once = _parse_mode(mode)
        lateness = LATENESS_DEFAULT[chosen] if max_lateness is None else max_lateness
        object.__setattr__(self, "mode", chosen)
        object.__setattr__(self, "max_lateness", parse_duration(lateness))
        object.__setattr__(self, "at_once", at_once)
        object.__setattr__(self, "gate", gate or _GATE)

    @property
    def words(self) -> str:
        """The mode as it is written: `latest`, `parallel(4)`."""
        parallel = self.mode is CatchUpMode.PARALLEL
        return f"{self.mode}({self.at_once})" if parallel else str(self.mode)


def _parse_mode(text: str) -> tuple[CatchUpMode, int]:
    name, number = _split("catch_up", text, CATCH_UP_WORDS)
    mode = _MODES.get(name)
    if mode is None:
        raise InvalidSpec(f"catch_up {quoted(text)}: expected one of {CATCH_UP_WORDS}")
    if mode is not CatchUpMode.PARALLEL:
        if number is not None:
            raise InvalidSpec(f"catch_up {quoted(text)}: {mode} takes no number")
        return mode, 1
    if number is None or not 1 <= number <= AT_ONCE_MAX:
        raise InvalidSpec(
            f"catch_up {quoted(text)}: say how many at once, 1 to {AT_ONCE_MAX}, such as parallel(4)"
        )
    return mode, number


def _split(what: str, text: object, words: str) -> tuple[str, int | None]:
    found = _WITH_NUMBER.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise InvalidSpec(f"{what} {quoted(str(text))}: expected one of {words}")
    return found[1], None if found[2] is None else int(found[2])
