"""The same question, answered slowly and by other means: every order, every epoch, every choice, and then
whether moments can be found that fit.

The rules are written as differences between moments, and a set of those can be met if and only if no circle
of them adds up to less than nothing. Nothing is shared with the checker but the histories.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations

from fencepost.model.lease import Granted, HeldBy, Lost, Unknown
from tests.linearizability.lease_history import Acquiring, LeaseOperation, Releasing, Renewing

Limit = tuple[int, int, float]
"""(a, b, most): the moment of `a` is at most that much after the moment of `b`. Moment 0 is the beginning."""


@dataclass(frozen=True)
class Row:
    """The lease in one order of events, and which call (by its number in the order) it counts from."""

    holder: str | None = None
    epoch: int = 0
    since: int = 0
    sent_at: float = 0.0
    is_over: bool = False


@dataclass(frozen=True)
class World:
    """One way in which the calls so far can have gone."""

    row: Row = Row()
    limits: tuple[Limit, ...] = ()

    def within(self, limit: Limit) -> World:
        return replace(self, limits=(*self.limits, limit))


def is_explained(history: Sequence[LeaseOperation], ttl_s: float, slack_s: float) -> bool:
    """Whether any order of the answered calls and some of the others can have happened."""
    answered = [one for one in history if one.answered_at is not None]
    others = [one for one in history if one.answered_at is None]
    epochs = range(1, 2 + max((_named(one) for one in history), default=0) + len(others))
    for size in range(len(others) + 1):
        for happened in combinations(others, size):
            for order in permutations([*answered, *happened]):
                if any(_is_possible(order, world) for world in _worlds(order, ttl_s, slack_s, epochs)):
                    return True
    return False


def _worlds(
    order: Sequence[LeaseOperation], ttl_s: float, slack_s: float, epochs: Sequence[int]
) -> Sequence[World]:
    worlds = [World()]
    for number, operation in enumerate(order, 1):
        steps = (Step(world, operation, number, ttl_s, slack_s, epochs) for world in worlds)
        worlds = [after for step in steps for after in step.after()]
    return worlds


@dataclass(frozen=True)
class Step:
    """One call in one world."""

    world: World
    operation: LeaseOperation
    number: int
    ttl_s: float
    slack_s: float
    epochs: Sequence[int]

    def after(self) -> Iterator[World]:
        match self.operation.what:
            case Acquiring() as call:
                yield from self._acquired(call)
            case call if isinstance(call.answer, Lost):
                yield from self._lost(call)
            case Renewing() as call:
                yield from self._renewed(call)
            case call if self._is(call.holder, call.epoch):
                yield replace(self.world, row=Row(epoch=call.epoch))

    def _acquired(self, call: Acquiring) -> Iterator[World]:
        match call.answer:
            case HeldBy(holder, epoch):
                if holder != call.holder and self._is(holder, epoch):
                    yield from self._lasting()
            case Granted(epoch):
                if self._is(call.holder, epoch):
                    yield from self._lasting()
                yield from self._granted(call, [epoch])
            case Unknown():
                yield from self._granted(call, self.epochs)

    def _granted(self, call: Acquiring, epochs: Iterable[int]) -> Iterator[World]:
        for over in self._over():
            for epoch in epochs:
                if epoch > self.world.row.epoch:
                    yield replace(over, row=Row(call.holder, epoch, self.number, self.operation.sent_at))

    def _lost(self, call: Renewing | Releasing) -> Iterator[World]:
        if not self._is(call.holder, call.epoch):
            yield self.world
        else:
            yield from (replace(over, row=replace(over.row, is_over=True)) for over in self._over())

    def _renewed(self, call: Renewing) -> Iterator[World]:
        is_right = not isinstance(call.answer, Granted) or call.answer.epoch == call.epoch
        if is_right and self._is(call.holder, call.epoch):
            sent_at = max(self.world.row.sent_at, self.operation.sent_at)
            for lasting in self._lasting():
                yield replace(lasting, row=replace(lasting.row, since=self.number, sent_at=sent_at))

    def _is(self, holder: str, epoch: int) -> bool:
        return (self.world.row.holder, self.world.row.epoch) == (holder, epoch)

    def _over(self) -> Iterator[World]:
        """The world in which the lease is over at this call: not before its term."""
        if self.world.row.holder is None or self.world.row.is_over:
            yield self.world
        else:
            yield self.world.within((0, self.number, -(self.world.row.sent_at + self.ttl_s)))

    def _lasting(self) -> Iterator[World]:
        """The world in which the lease still lasts at this call, if there can be one."""
        if not self.world.row.is_over:
            yield self.world.within((self.number, self.world.row.since, self.ttl_s + self.slack_s))


def _is_possible(order: Sequence[LeaseOperation], world: World) -> bool:
    """Whether there are moments: within each call, in this order, and within all limits."""
    limits = list(world.limits)
    for number, operation in enumerate(order, 1):
        limits.append((0, number, -operation.sent_at))
        limits.append((number - 1, number, 0.0))
        if operation.answered_at is not None:
            limits.append((number, 0, operation.answered_at))
    return _can_be_met(limits, len(order) + 1)


def _can_be_met(limits: Sequence[Limit], moments: int) -> bool:
    """Shortest ways through the limits: as long as none gets shorter for ever, they are the moments."""
    at = [0.0] * moments
    for _ in range(moments + 1):
        changed = False
        for a, b, most in limits:
            if at[b] + most < at[a] - 1e-9:
                at[a] = at[b] + most
                changed = True
        if not changed:
            return True
    return False


def _named(operation: LeaseOperation) -> int:
    """The largest epoch that is spoken of."""
    call = operation.what
    said = call.answer.epoch if isinstance(call.answer, Granted | HeldBy) else 0
    return max(said, 0 if isinstance(call, Acquiring) else call.epoch)
