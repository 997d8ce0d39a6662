"""The verdict on a history: what every checker found, which had no say, and how much each looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType, ModuleType

from tests.history.checkers import (
    attempts,
    durability,
    effects,
    fences,
    lateness,
    leases,
    liveness,
    messages,
    overlap,
    reports,
    states,
    ticks,
)
from tests.history.findings import sorted_once
from tests.history.model import History, Violation

CHECKERS: Mapping[str, ModuleType] = MappingProxyType(
    {
        "ticks": ticks,
        "fences": fences,
        "reports": reports,
        "leases": leases,
        "states": states,
        "overlap": overlap,
        "lateness": lateness,
        "attempts": attempts,
        "effects": effects,
        "liveness": liveness,
        "durability": durability,
        "messages": messages,
    }
)


@dataclass(frozen=True)
class Verdict:
    """What all checkers say of one history."""

    violations: tuple[Violation, ...]
    silent: Mapping[str, frozenset[str]]
    """The checkers that had no say, with what they would have had to see."""
    looked: Mapping[str, Counter[str]]
    """How many things of each kind each of the others looked at."""

    @property
    def idle(self) -> list[str]:
        """The checkers that had a say and nothing to look at: they prove nothing."""
        return [name for name, counted in self.looked.items() if not counted.total()]

    def __str__(self) -> str:
        lines = [str(one) for one in self.violations] or ["no violation"]
        lines += [f"{name} had no say: {', '.join(sorted(lacks))}" for name, lacks in self.silent.items()]
        lines += [f"{name} looked at {_words(counted)}" for name, counted in self.looked.items()]
        return "\n".join(lines)


def judge(history: History, excuses: frozenset[str] = attempts.EXCUSES) -> Verdict:
    """Have every checker look at a history.

    `excuses` are the kinds of faults that keep every reaper away, so that rescues wait for their end."""
    with sorted_once(history):
        return _judge(history, excuses)


def _judge(history: History, excuses: frozenset[str]) -> Verdict:
    violations: list[Violation] = []
    silent: dict[str, frozenset[str]] = {}
    looked: dict[str, Counter[str]] = {}
    for name, checker in CHECKERS.items():
        if lacks := checker.NEEDS & history.unseen:
            silent[name] = lacks
            continue
        look = partial(attempts.check, excuses=excuses) if checker is attempts else checker.check
        looked[name] = Counter()
        violations += [one for one in look(history, looked[name]) if one.invariant not in history.forgives]
    return Verdict(tuple(violations), silent, looked)


def _words(counted: Counter[str]) -> str:
    return ", ".join(f"{number} {what}" for what, number in counted.items() if number) or "nothing"
