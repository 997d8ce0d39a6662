"""Is there an order of events that explains every answer?

Several clients call one store at the same time. Each call has a moment at which it was sent and, if all went
well, a moment at which it was answered. A store keeps its promises if every call can be thought to have
happened at one instant between the two, so that the calls, one after the other, are a life that its
sequential specification allows. That is linearizability, and `check` decides it for a recorded history.

**The search** is Wing and Gong's with Lowe's memory. Take any call that was sent before the earliest answer
that is still unexplained, let the specification say what may have come of it, and go on from there; where
nothing fits, go back. A set of calls that are done together with the state they led to is looked at only
once. A call without an answer may be put anywhere after it was sent, or be left out.

**Time** is part of it. What is not yet explained puts a limit on when the next call can have happened: not
before anything that is done was sent, and not after the earliest answer still to come. The specification is
told of this `Window`, and with it can judge what has run out. All moments must be read from one monotonic
clock, in the process that makes the calls.

**The verdict.** If no order explains the history, there is a first answer at which that was so: everything
answered earlier can be explained, this answer cannot. `Unexplained` names it and tells what stands against
it. Checking is exponential at worst, so the search counts its steps, and says `GaveUp` where it would be
guessing.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeAlias, TypeVar

STEPS_MAX = 200_000
"""What a check may cost: a few seconds, and some tens of megabytes."""

OBJECTIONS_MAX = 3
LAST_WORDS_MAX = 8

W = TypeVar("W")
S = TypeVar("S", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Operation(Generic[W]):
    """One call: what was asked and answered, and when.

    Without an answer that can be relied on `answered_at` is None: it may have happened at any time since it
    was sent, also long after the caller turned away, or never.
    """

    what: W
    sent_at: float
    answered_at: float | None

    def __str__(self) -> str:
        end = "      …" if self.answered_at is None else f"{self.answered_at:7.3f}"
        return f"[{self.sent_at:7.3f}, {end}]  {self.what}"


class Window(NamedTuple):
    """When the call in question can have happened, given all that is done and all that is still to come."""

    earliest: float
    latest: float


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a call cannot have gone as it was answered, for people."""

    why: str


class Specification(Protocol[W, S]):
    """What one client after the other may see."""

    def initial(self) -> S:
        """Before anything happened."""
        ...

    def ways(self, state: S, operation: Operation[W], window: Window) -> Iterable[S | Objection]:
        """Each state that the operation, answered as it was, may have led to; or what stands against it.

        For an operation without an answer: the states in which it took effect, whatever it would have said.
        """
        ...


@dataclass(frozen=True, slots=True)
class Explained(Generic[W]):
    """An order that explains every answer; calls without an answer are in it where they took effect."""

    order: tuple[Operation[W], ...]

    def __str__(self) -> str:
        return "\n".join(["this order explains the history:", *_lines(self.order)])


@dataclass(frozen=True, slots=True)
class Unexplained(Generic[W]):
    """The first answer that nothing explains, one explanation of all that was answered before it, and what
    stands against it then."""

    operation: Operation[W]
    before: tuple[Operation[W], ...]
    objections: tuple[str, ...]

    def __str__(self) -> str:
        left_out = len(self.before) - LAST_WORDS_MAX
        return "\n".join(
            [
                "no order explains the history up to this answer:",
                *_lines([self.operation]),
                *(f"  because {why}" for why in self.objections),
                "what was answered before it is explained by this order:" if self.before else "",
                *([f"  ({left_out} earlier)"] if left_out > 0 else []),
                *_lines(self.before[-LAST_WORDS_MAX:]),
            ]
        ).rstrip()


@dataclass(frozen=True, slots=True)
class GaveUp:
    """Neither explained nor refuted within so many steps."""

    steps: int

    def __str__(self) -> str:
        return (
            f"gave up after {self.steps} steps without a verdict: "
            "record a shorter history, fewer clients or fewer lost answers"
        )


Verdict: TypeAlias = Explained[W] | Unexplained[W] | GaveUp


def check(
    history: Sequence[Operation[W]], specification: Specification[W, S], steps_max: int = STEPS_MAX
) -> Verdict[W]:
    """See the module."""
    return _Search(history, specification, steps_max).run()


class _Node(NamedTuple, Generic[S]):
    """Where the search stands: the calls that are done as bits, the first answer that is not yet explained,
    the latest moment at which something done was sent, and the state."""

    done: int
    first: int
    earliest: float
    state: S


class _Seen(Generic[S]):
    """Where the search has been. Whoever stands in the same state with the same answers explained, but has
    used up more of the calls without an answer, can go nowhere that the other cannot."""

    def __init__(self, answered: int) -> None:
        self._answered = answered
        self._spent: dict[tuple[int, S], list[int]] = {}

    def is_news(self, node: _Node[S]) -> bool:
        spent = node.done >> self._answered
        explained = node.done & (1 << self._answered) - 1
        others = self._spent.setdefault((explained, node.state), [])
        if any(other & spent == other for other in others):
            return False
        others.append(spent)
        return True


class _Search(Generic[W, S]):
    """Calls are numbered: those with an answer in the order of their answers, then the others."""

    def __init__(
        self, history: Sequence[Operation[W]], specification: Specification[W, S], steps_max: int
    ) -> None:
        self._operations = sorted(history, key=_answered_at)
        self._answered = sum(one.answered_at is not None for one in history)
        self._candidates = [self._sent_by(number) for number in range(self._answered)]
        self._specification = specification
        self._steps_left = self._steps_max = steps_max
        self._deepest = -1
        self._before: tuple[Operation[W], ...] = ()
        self._objections: dict[str, None] = {}

    def run(self) -> Verdict[W]:
        root = _Node(0, 0, -math.inf, self._specification.initial())
        seen = _Seen[S](self._answered)
        path: list[int] = []
        branches = [self._next(root, path)]
        if not self._answered:
            return Explained(())
        while branches:
            step = next(branches[-1], None)
            if self._steps_left < 0:
                return GaveUp(self._steps_max)
            if step is None:
                branches.pop()
                del path[-1:]
                continue
            number, node = step
            if node.first == self._answered:
                return Explained(self._named([*path, number]))
            if seen.is_news(node):
                path.append(number)
                branches.append(self._next(node, path))
        return Unexplained(self._operations[self._deepest], self._before, tuple(self._objections))

    def _next(self, node: _Node[S], path: list[int]) -> Iterator[tuple[int, _Node[S]]]:
        """Each call that can have come next, with what came of it."""
        latest = _answered_at(self._operations[node.first])
        self._reached(node, path)
        for number in self._candidates[node.first]:
            if node.done >> number & 1:
                continue
            operation = self._operations[number]
            window = Window(max(node.earliest, operation.sent_at), latest)
            self._steps_left -= 1
            for way in self._specification.ways(node.state, operation, window):
                if not isinstance(way, Objection):
                    done = node.done | 1 << number
                    yield number, _Node(done, self._first_open(done, node.first), window.earliest, way)
                elif number == node.first == self._deepest and len(self._objections) < OBJECTIONS_MAX:
                    self._objections[way.why] = None

    def _reached(self, node: _Node[S], path: list[int]) -> None:
        """Remember how far any order came: the search is complete, so the first answer that it never got past
        is the first that cannot be explained."""
        if node.first > self._deepest:
            self._deepest = node.first
            self._before = self._named(path)
            self._objections.clear()

    def _sent_by(self, first: int) -> list[int]:
        """The calls that were sent by the time of an answer and not answered earlier, those without an answer
        last: an order that needs none of them is the plainest."""
        moment = _answered_at(self._operations[first])
        return [
            number
            for number in range(first, len(self._operations))
            if self._operations[number].sent_at <= moment
        ]

    def _first_open(self, done: int, first: int) -> int:
        while done >> first & 1 and first < self._answered:
            first += 1
        return first

    def _named(self, numbers: Iterable[int]) -> tuple[Operation[W], ...]:
        return tuple(self._operations[number] for number in numbers)


def _answered_at(operation: Operation[W]) -> float:
    return math.inf if operation.answered_at is None else operation.answered_at


def _lines(operations: Iterable[Operation[W]]) -> list[str]:
    return [f"  {operation}" for operation in operations]
