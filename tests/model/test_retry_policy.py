"""What a retry policy may say, and the names under which it knows errors."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from fencepost.errors import InvalidDuration, InvalidSpec, RetryableFailure, TimedOut
from fencepost.model.job import ERROR_NAMES_MAX, Retry, error_names


class Busy(ConnectionError):
    class Very(TimeoutError):
        pass


def test_a_policy_that_says_nothing_has_a_budget_and_no_deadline() -> None:
    retry = Retry()
    assert (retry.deadline, retry.only, retry.never, retry.budget) == (None, (), (), 0.2)


@pytest.mark.parametrize(
    ("kinds", "names"),
    [
        ((), ()),
        (ValueError, ("ValueError",)),
        ("ValueError", ("ValueError",)),
        ((TimeoutError, "OSError", OSError), ("OSError", "TimeoutError")),
        (TimedOut, ("fencepost.errors.TimedOut",)),
        (Busy.Very, (f"{__name__}.Busy.Very",)),
        (["shop.errors.Busy"], ("shop.errors.Busy",)),
    ],
)
def test_errors_are_kept_by_name_in_one_order(kinds: Any, names: tuple[str, ...]) -> None:
    assert Retry(only=kinds).only == Retry(never=kinds).never == names


def test_a_class_of_the_program_itself_is_known_however_the_program_was_started() -> None:
    started = type("Busy", (Exception,), {"__module__": "__main__"})
    imported = type("Busy", (Exception,), {"__module__": "shop"})
    assert Retry(only=started).only == ("Busy",)
    assert "Busy" in error_names(imported)


@pytest.mark.parametrize("kind", [Busy, Busy.Very, TimedOut, ValueError, SystemExit])
@pytest.mark.parametrize(
    "listed", [Busy, Busy.Very, TimedOut, ValueError, ConnectionError, OSError, Exception]
)
def test_a_class_is_matched_exactly_where_it_is_a_subclass(
    kind: type[BaseException], listed: type[BaseException]
) -> None:
    (name,) = Retry(only=listed).only
    assert (name in error_names(kind)) is issubclass(kind, listed)


@pytest.mark.parametrize(
    "name", ["Very", "Busy.Very", f"{__name__}.Busy.Very", "OSError", "builtins.OSError"]
)
def test_a_class_is_known_by_its_bare_and_its_qualified_name(name: str) -> None:
    assert name in error_names(Busy.Very)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"only": "no name"}, 'retry: only "no name": expected an exception class, or its name'),
        ({"only": [""]}, 'retry: only "": expected'),
        ({"never": "a..b"}, 'retry: never "a..b": expected'),
        ({"never": int}, "retry: never <class 'int'>: expected"),
        ({"never": [7]}, "retry: never 7: expected"),
        ({"never": "x" * 201}, 'retry: never "xxxx'),
        (
            {"only": [f"E{n}" for n in range(ERROR_NAMES_MAX + 1)]},
            "retry: only lists 101 errors; at most 100",
        ),
        ({"only": OSError, "never": "OSError"}, "retry: OSError stands in only and in never"),
        ({"deadline": 0}, "retry: a deadline must be longer than nothing; for no retry say max_attempts 1"),
        ({"budget": -0.1}, "retry: budget -0.1: expected a share of the first attempts, 0 to 1, or None"),
        ({"budget": 1.5}, "retry: budget 1.5: expected"),
        ({"budget": float("nan")}, "retry: budget nan: expected"),
        ({"budget": True}, "retry: budget True: expected"),
        ({"budget": "0.2"}, 'retry: budget "0.2": expected'),
    ],
)
def test_a_policy_that_cannot_be_meant_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        Retry(**options)
    assert str(caught.value).startswith(said)


def test_a_deadline_is_a_length_of_time() -> None:
    assert Retry(deadline="1h30m").deadline == timedelta(minutes=90)
    with pytest.raises(InvalidDuration):
        Retry(deadline="5 parsecs")


def test_a_retryable_failure_need_not_say_when() -> None:
    assert RetryableFailure("busy").retry_after is None
    assert str(RetryableFailure("busy", retry_after="2m")) == "busy"
    assert str(RetryableFailure()) == ""
