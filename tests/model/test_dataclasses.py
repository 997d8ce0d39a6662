"""Our short dataclasses do what the standard ones do, but for refusing an assignment."""

import dataclasses
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from fencepost.model.dataclasses import dataclass
from fencepost.model.run import Ticket


@dataclass(frozen=True, slots=True)
class Ours:
    name: str
    hidden: int = dataclasses.field(default=0, repr=False, compare=False)
    tags: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Theirs:
    name: str
    hidden: int = dataclasses.field(default=0, repr=False, compare=False)
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Empty:
    """Nothing to compare."""


class Question(NamedTuple):
    asked: Callable[[Any], object]


QUESTIONS = {
    "repr": Question(lambda cls: repr(cls("a", 1, ("x",))).partition("(")[2]),
    "equal": Question(lambda cls: cls("a", 1) == cls("a", 2)),
    "unlike": Question(lambda cls: cls("a") == cls("b")),
    "another class": Question(lambda cls: cls("a") == ("a", 0, ())),
    "one in a set": Question(lambda cls: len({cls("a", 1), cls("a", 2), cls("b")})),
    "replaced": Question(lambda cls: dataclasses.astuple(dataclasses.replace(cls("a", 1), name="b"))),
    "fields": Question(lambda cls: [one.name for one in dataclasses.fields(cls)]),
    "match": Question(lambda cls: cls.__match_args__),
    "slots": Question(lambda cls: hasattr(cls("a"), "__dict__")),
    "pickled": Question(lambda cls: dataclasses.astuple(pickle.loads(pickle.dumps(cls("a", 3))))),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_it_answers_as_the_standard_one(name: str) -> None:
    assert QUESTIONS[name].asked(Ours) == QUESTIONS[name].asked(Theirs)


def test_values_without_fields_are_equal() -> None:
    assert Empty() == Empty()
    assert len({Empty(), Empty()}) == 1


def test_a_ticket_is_made_in_the_short_way() -> None:
    assert "__setattr__" not in vars(Ticket)
