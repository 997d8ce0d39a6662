"""Cron: fire times by fields of the calendar and the clock, in a zone."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Self

from fencepost.errors import InvalidTrigger
from fencepost.model.json import JsonObject
from fencepost.model.quoting import quoted
from fencepost.triggers.cron.cautions import cautions
from fencepost.triggers.cron.expression import CronInterval, parse_expression
from fencepost.triggers.cron.words import describe_cron
from fencepost.triggers.localtime import dst
from fencepost.triggers.localtime.times import WallTimes, WallTrigger
from fencepost.triggers.localtime.zones import zone
from fencepost.triggers.series import Binding

VERSION = 1
HALF_CHARACTER = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Cron(WallTrigger):
    """`minute hour day month weekday`, or six fields with the second first.

    Fields are read in the wall time of `tz`. `gap` and `fold` say what a change of the clocks
    does; None leaves it to the rule of Debian's cron (see `fencepost.triggers.localtime.dst`). `seed` is
    what an `H` is hashed by: the id of its schedule, unless one is given.
    """

    expression: str
    tz: str = "UTC"
    gap: dst.Gap | None = None
    fold: dst.Fold | None = None
    seed: str | None = None
    times: WallTimes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        text = " ".join(_checked("expression", self.expression).split())
        seed = None if self.seed is None else _checked("seed", self.seed)
        parsed = parse_expression(text, seed)
        walls = _Unseeded(text) if parsed.hashed and seed is None else parsed
        local = zone(self.tz)
        policy = dst.policy(self.gap, self.fold, fixed_time=parsed.fixed_time)
        object.__setattr__(self, "expression", text)
        object.__setattr__(
            self,
            "times",
            WallTimes(walls, zone("UTC") if isinstance(parsed, CronInterval) else local, policy),
        )

    def __reduce__(self) -> tuple[type[Cron], tuple[str | None, ...]]:
        # A zone loaded from a file cannot be pickled; the five values say everything.
        return Cron, (self.expression, self.tz, self.gap, self.fold, self.seed)

    def is_hashed(self) -> bool:
        """Whether it has an `H` without a seed."""
        return isinstance(self.times.walls, _Unseeded)

    def bound(self, binding: Binding) -> Self:
        """With an `H`, the same expression hashed by the schedule's id."""
        return replace(self, seed=binding.schedule_id) if self.is_hashed() else self

    def describe(self) -> str:
        """At 02:30 on weekdays, Berlin time."""
        return describe_cron(self.expression, self.tz, self.seed)

    def cautions(self) -> tuple[str, ...]:
        """What the expression may mean to others, a sentence each."""
        return cautions(self.expression)

    def to_json(self) -> JsonObject:
        """The stable form: all that the fire times depend on, but for the zone data."""
        form: JsonObject = {
            "v": VERSION,
            "kind": "cron",
            "expression": self.expression,
            "tz": self.tz,
            "gap": self.gap,
            "fold": self.fold,
        }
        return form if self.seed is None else {**form, "seed": self.seed}


@dataclass(frozen=True)
class _Unseeded:
    """Stands in for an expression with an `H` that has no identity yet."""

    expression: str

    def next_wall(self, at: int) -> int | None:
        raise self._refusal()

    def previous_wall(self, before: int) -> int | None:
        raise self._refusal()

    def _refusal(self) -> InvalidTrigger:
        remedy = "give it a seed, or ask as a schedule"
        return InvalidTrigger(f"cron {quoted(self.expression)}: H is hashed by a schedule's id; {remedy}")


def _checked(what: str, value: object) -> str:
    if not isinstance(value, str) or HALF_CHARACTER.search(value):
        raise InvalidTrigger(f"cron {what} {quoted(value)}: expected a text")
    return value
