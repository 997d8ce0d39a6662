"""The rows of credentials and of kept answers, in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from fencepost.model.access import SessionRecord, SignInLink, TokenRecord
from fencepost.model.answers import Answered
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace

R = TypeVar("R", TokenRecord, SessionRecord, SignInLink)


@dataclass(slots=True)
class Kept(Generic[R]):
    """A record with its digest."""

    record: R
    digest: str


@dataclass(slots=True)
class AccessRows:
    """Credentials by id; `number` is the last that was given."""

    tokens: dict[str, Kept[TokenRecord]] = field(default_factory=dict)
    sessions: dict[str, Kept[SessionRecord]] = field(default_factory=dict)
    links: dict[str, Kept[SignInLink]] = field(default_factory=dict)
    number: int = 0

    def next_number(self) -> int:
        self.number += 1
        return self.number


@dataclass(slots=True)
class AnswerRow:
    """A call with a key of its own, and what was answered, if it was."""

    fingerprint: str
    asked_at: StoreTime
    held_until: StoreTime
    answer: Answered | None = None


AnswerRows = dict[tuple[Namespace, str, str], AnswerRow]
