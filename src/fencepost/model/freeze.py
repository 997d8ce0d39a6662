"""A freeze: ticks go on being planned and accounted for, but nothing of its scope is started."""

from __future__ import annotations

from enum import StrEnum

from fencepost.errors import InvalidSpec
from fencepost.model.audit import Author
from fencepost.model.clocks import StoreTime
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Namespace


class ScopeKind(StrEnum):
    """What a freeze covers."""

    ALL = "all"
    """Everything of the namespace, runs by hand included."""
    LABEL = "label"
    """Every schedule that has a label, also one that gets it later."""
    QUEUE = "queue"
    """Everything of one queue, runs by hand and retries included."""
    SCHEDULE = "schedule"


@dataclass(frozen=True, slots=True, order=True)
class Scope:
    """`value` is empty, `key=value`, a queue's name or a schedule's id."""

    kind: ScopeKind
    value: str = ""

    def __str__(self) -> str:
        return "everything" if self.kind is ScopeKind.ALL else f"{self.kind} {self.value}"

    @property
    def label(self) -> tuple[str, str]:
        """The key and the value of a label."""
        key, _, value = self.value.partition("=")
        return key, value


def label_scope(text: str) -> Scope:
    """The scope of a label given as `key=value`."""
    key, equals, value = text.partition("=")
    if not key or not equals or not value:
        raise InvalidSpec(f"label {text!r}: expected key=value")
    return Scope(ScopeKind.LABEL, text)


@dataclass(frozen=True, slots=True)
class Freeze:
    """A freeze that is in force."""

    namespace: Namespace
    scope: Scope
    since: StoreTime
    author: Author
