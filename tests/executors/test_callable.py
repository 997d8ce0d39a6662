"""Functions get what their signature says, or are not called at all."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from typing import Any

import pytest

from fencepost.errors import InvalidPayload, InvalidSpec, PermanentFailure
from fencepost.executors.callable import CallableExecutor
from fencepost.model.job import Parameter
from fencepost.ports.run import Run
from tests.executors.runs import make_run


class Colour(Enum):
    RED = "red"


@dataclass
class Address:
    city: str
    number: int = 1


async def report(month: int, title: str = "untitled", rate: float = 0.5) -> str:
    return f"{month!r} {title!r} {rate!r}"


async def send(to: Address, day: date, colour: Colour, cc: list[Address] | None = None) -> str:
    return f"{to} {day!r} {colour} {cc}"


async def anything(first: int, **rest: Any) -> str:
    return f"{first} {rest}"


async def bare() -> None: ...


async def execute(function: Callable[..., Any], **payload: Any) -> str | None:
    return await CallableExecutor(function).execute(make_run(payload))


async def test_defaults_are_the_functions_own() -> None:
    assert await execute(report, month=3) == "3 'untitled' 0.5"
    assert await execute(report, month=3, title="x", rate=1) == "3 'x' 1.0"


async def test_values_arrive_in_the_annotated_types() -> None:
    result = await execute(
        send, to={"city": "Bern"}, day="2026-03-01", colour="red", cc=[{"city": "Chur", "number": 2}]
    )
    assert result == (
        "Address(city='Bern', number=1) datetime.date(2026, 3, 1) Colour.RED [Address(city='Chur', number=2)]"
    )


REFUSALS: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (report, {}, "payload: 'month' is missing; the job takes: month, title, rate"),
    (report, {"month": 3, "mont": 4}, "payload: unknown name 'mont'; the job takes: month, title, rate"),
    (report, {"month": "3"}, "payload: month: Expected `int`, got `str`"),
    (report, {"month": True}, "payload: month: Expected `int`, got `bool`"),
    (report, {"month": None}, "payload: month: Expected `int`, got `null`"),
    (report, {"month": 3.5}, "payload: month: Expected `int`, got `float`"),
    (report, {"month": 3, "title": 4}, "payload: title: Expected `str`, got `int`"),
    (send, {"to": {}, "day": "2026-03-01", "colour": "red"}, "payload: to: Object missing required field"),
    (send, {"to": {"city": "x"}, "day": "March", "colour": "red"}, "payload: day: Invalid RFC3339"),
    (
        send,
        {"to": {"city": "x"}, "day": "2026-03-01", "colour": "blue"},
        "payload: colour: Invalid enum value",
    ),
    (bare, {"x": 1}, "payload: unknown name 'x'; the job takes: none"),
    (anything, {"second": 1}, "payload: 'first' is missing"),
]


@pytest.mark.parametrize(("function", "payload", "complaint"), REFUSALS)
async def test_a_payload_that_does_not_fit_is_refused_and_never_retried(
    function: Callable[..., Any], payload: dict[str, Any], complaint: str
) -> None:
    executor = CallableExecutor(function)
    with pytest.raises(InvalidPayload) as caught:
        executor.check(payload)
    assert str(caught.value).startswith(complaint)
    with pytest.raises(PermanentFailure) as failed:
        await executor.execute(make_run(payload))
    assert str(failed.value) == str(caught.value)


async def test_an_open_signature_takes_any_further_name() -> None:
    assert CallableExecutor(anything).open_payload
    assert not CallableExecutor(report).open_payload
    assert await execute(anything, first=1, second=[2], third=None) == "1 {'second': [2], 'third': None}"


async def test_the_run_comes_first_where_it_is_asked_for_by_name_or_by_type() -> None:
    async def by_name(run: Any, month: int) -> str:
        return f"{run.key} {month}"

    async def by_type(context: Run, month: int) -> str:
        return f"{context.key} {month}"

    for function in (by_name, by_type):
        assert await execute(function, month=3) == "beat#2026-03-01T12:00:00Z#3 3"
        with pytest.raises(InvalidPayload, match="unknown name"):
            CallableExecutor(function).check({"month": 3, "run": 1, "context": 1})


async def test_a_result_is_kept_as_text_and_nothing_as_nothing() -> None:
    async def give(value: Any) -> Any:
        return value

    assert await execute(give, value={"rows": 3}) == '{"rows":3}'
    assert await execute(give, value=None) is None
    assert await execute(give, value=0) == "0"


async def test_a_plain_function_runs_in_a_thread_of_the_pool_and_does_not_block_the_loop() -> None:
    entered, leave = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def block() -> str:
        loop.call_soon_threadsafe(entered.set)
        assert leave.wait(10)
        return threading.current_thread().name

    with ThreadPoolExecutor(1, thread_name_prefix="pool") as threads:
        executor = CallableExecutor(block, threads)
        assert not executor.stoppable
        running = asyncio.create_task(executor.execute(make_run()))
        await asyncio.wait_for(entered.wait(), 10)
        leave.set()
        assert (await running or "").startswith("pool")


async def test_an_async_function_runs_on_the_loop() -> None:
    async def where() -> str:
        return threading.current_thread().name

    assert CallableExecutor(where).stoppable
    assert await execute(where) == threading.current_thread().name


async def test_an_exception_of_the_function_is_passed_on_as_it_is() -> None:
    def fail() -> None:
        raise LookupError("no")

    async def fail_later() -> None:
        raise LookupError("no")

    for function in (fail, fail_later):
        with pytest.raises(LookupError, match="no"):
            await execute(function)


async def test_a_stop_iteration_out_of_a_thread_does_not_hang_the_run() -> None:
    def exhausted() -> int:
        return next(iter([]))

    with pytest.raises(RuntimeError, match="StopIteration"):
        await asyncio.wait_for(execute(exhausted), 5)


def test_parameters_are_told_to_those_without_the_function() -> None:
    def every_kind(
        flag: bool,
        count: int,
        rate: float,
        name: str,
        rows: list,  # type: ignore[type-arg]
        options: dict,  # type: ignore[type-arg]
        when: datetime,
        rest: object = None,
    ) -> None: ...

    assert CallableExecutor(every_kind).parameters == (
        Parameter("flag", True, "boolean"),
        Parameter("count", True, "integer"),
        Parameter("rate", True, "number"),
        Parameter("name", True, "string"),
        Parameter("rows", True, "array"),
        Parameter("options", True, "object"),
        Parameter("when", True, "string"),
        Parameter("rest", False, "any"),
    )


def positional(month: int, /) -> None: ...


def variadic(*months: int) -> None: ...


@pytest.mark.parametrize("function", [positional, variadic])
def test_arguments_that_cannot_be_given_by_name_are_refused_at_once(function: Callable[..., Any]) -> None:
    with pytest.raises(InvalidSpec, match="cannot be given by name"):
        CallableExecutor(function)
