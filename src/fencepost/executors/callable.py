"""Python functions as jobs: async ones on the worker's loop, the others in threads.

The payload is validated against the function's signature before the function is called: unknown names,
missing ones and wrong types are refused, and values arrive in the annotated types (dataclasses, dates,
enums, msgspec and other types that msgspec converts).
"""

from __future__ import annotations

import asyncio
import inspect
import typing
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import msgspec

from fencepost.errors import InvalidPayload, InvalidSpec, PermanentFailure
from fencepost.model.job import Parameter
from fencepost.model.json import JsonObject
from fencepost.ports.run import Run

_KINDS: dict[Any, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


class CallableExecutor:
    """One function."""

    def __init__(self, function: Callable[..., Any], threads: ThreadPoolExecutor | None = None) -> None:
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise InvalidSpec(
                f"job {function.__qualname__}: is a generator, which would never run; return instead"
            )
        self._function = function
        self._threads = threads
        self._is_async = inspect.iscoroutinefunction(function)
        self._hints = _hints(function)
        self._arguments, self._takes_run, self._open = _signature(function)
        self._known = ", ".join(self._arguments) or "none"
        self._required = [one.name for one in self._arguments.values() if one.default is one.empty]

    @property
    def stoppable(self) -> bool:
        return self._is_async

    @property
    def open_payload(self) -> bool:
        """Whether the function takes any further names (`**kwargs`)."""
        return self._open

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What the function takes from a payload, for those who do not have the function."""
        return tuple(
            Parameter(one.name, one.default is one.empty, self._kind(one.name))
            for one in self._arguments.values()
        )

    def check(self, payload: JsonObject) -> None:
        self._bind(payload)

    async def execute(self, run: Run) -> str | None:
        try:
            arguments = self._bind(run.payload)
        except InvalidPayload as error:
            raise PermanentFailure(str(error)) from None
        leading = (run,) if self._takes_run else ()
        if self._is_async:
            result = await self._function(*leading, **arguments)
        else:
            call = partial(self._function, *leading, **arguments)
            result = await asyncio.get_running_loop().run_in_executor(self._threads, _returning, call)
        return None if result is None else str(result)

    def _bind(self, payload: JsonObject) -> dict[str, Any]:
        self._check_names(payload)
        return {name: self._convert(name, value) for name, value in payload.items()}

    def _check_names(self, payload: JsonObject) -> None:
        for name in payload:
            if name not in self._arguments and not self._open:
                raise InvalidPayload(f"payload: unknown name {name!r}; the job takes: {self._known}")
        for name in self._required:
            if name not in payload:
                raise InvalidPayload(f"payload: {name!r} is missing; the job takes: {self._known}")

    def _convert(self, name: str, value: Any) -> Any:
        wanted = self._hints.get(name, Any)
        try:
            return msgspec.convert(value, wanted)
        except msgspec.ValidationError as error:
            raise InvalidPayload(f"payload: {name}: {error}") from None

    def _kind(self, name: str) -> str:
        return _KINDS.get(self._hints.get(name), "any")


def _returning(call: Callable[[], Any]) -> Any:
    """What steers generators cannot leave a thread through a future: it would steer whoever waits."""
    try:
        return call()
    except (StopIteration, GeneratorExit) as error:
        raise RuntimeError(f"the function raised {type(error).__name__}") from error


def plain_payload(values: dict[str, Any]) -> JsonObject:
    """Arguments as JSON: dataclasses, enums, dates and the like in the form in which they come back."""
    try:
        plain: JsonObject = msgspec.to_builtins(values, str_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidPayload(f"payload: {error}") from None
    return plain


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations as types; those that cannot be resolved accept anything."""
    try:
        return typing.get_type_hints(function)
    except (NameError, TypeError):
        return {}


def _signature(
    function: Callable[..., Any],
) -> tuple[dict[str, inspect.Parameter], bool, bool]:
    """The named arguments, whether a run comes first, and whether any further names are taken."""
    parameters = list(inspect.signature(function).parameters.values())
    hints = _hints(function)
    takes_run = bool(parameters) and (hints.get(parameters[0].name) is Run or parameters[0].name == "run")
    named = parameters[1:] if takes_run else parameters
    for one in named:
        if one.kind in (one.POSITIONAL_ONLY, one.VAR_POSITIONAL):
            raise InvalidSpec(f"job {function.__qualname__}: argument {one.name!r} cannot be given by name")
    accepts_any = any(one.kind is one.VAR_KEYWORD for one in named)
    return {one.name: one for one in named if one.kind is not one.VAR_KEYWORD}, takes_run, accepts_any
