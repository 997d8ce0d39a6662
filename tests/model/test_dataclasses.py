"""Our short dataclasses do what the standard ones do, but for refusing an assignment."""

import dataclasses
import functools
import inspect
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
    notes: list[str] = dataclasses.field(default_factory=list, compare=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Theirs:
    name: str
    hidden: int = dataclasses.field(default=0, repr=False, compare=False)
    tags: tuple[str, ...] = ()
    notes: list[str] = dataclasses.field(default_factory=list, compare=False)


@dataclass(frozen=True, slots=True)
class Empty:
    """Nothing to compare."""


class Question(NamedTuple):
    asked: Callable[[Any], object]


QUESTIONS = {
    "signature": Question(lambda cls: inspect.signature(cls)),
    "a factory": Question(lambda cls: cls("a").notes is not cls("b").notes),
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


@dataclass(frozen=True)
class Base:
    """With a place for what is worked out once."""

    name: str

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("a name")

    @functools.cached_property
    def length(self) -> int:
        """Of the name."""
        return len(self.name)


@dataclass(frozen=True)
class Derived(Base):
    size: int = 3


def test_without_slots_a_value_checks_itself_and_remembers() -> None:
    value = Derived("abc")
    assert (value.length, value.size, value) == (3, 3, Derived("abc"))
    assert dataclasses.replace(value, size=4) == Derived("abc", 4) != value
    with pytest.raises(ValueError, match="a name"):
        Derived("")


def test_nothing_is_compiled_before_the_first_instance() -> None:
    @dataclass(frozen=True, slots=True)
    class Value:
        number: int

    before = vars(Value)["__init__"]
    assert not inspect.isfunction(before)
    assert Value(1).number == 1
    assert inspect.isfunction(vars(Value)["__init__"])
