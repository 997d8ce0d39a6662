"""Payloads bound to signatures: what a function is called with.

The payload is validated against the function's signature before the function is called: unknown names,
missing ones and wrong types are refused, and values arrive in the annotated types (`values`). A parameter
that is a `Secret` takes a reference from the payload and gets its value right before the call. All callers of
the function, on the worker's loop, in a thread or in a child process, bind by this file, so that a job does
not change its meaning with its executor.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from fencepost.errors import InvalidPayload, InvalidSpec, PermanentFailure
from fencepost.executors.secrets import secrets_of
from fencepost.executors.values import SecretOf, Unreadable, from_json, kind_of, to_json
from fencepost.model.job import Parameter
from fencepost.model.json import JsonObject
from fencepost.model.secret import Secret
from fencepost.model.text import RESULT_LENGTH_MAX, beginning
from fencepost.ports.run import Run
from fencepost.telemetry.secrets import mask

NOT_KEPT = "(the result is not kept: "
FUNCTION_MARK = "__fencepost_function__"
"""A job knows the function that it was made of."""
EXACT = (bool, int, float, str)
"""A value of exactly such a type fits its annotation as it is."""


class Binding:
    """One function and what it takes."""

    def __init__(self, function: Callable[..., Any]) -> None:
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise InvalidSpec(
                f"job {function.__qualname__}: is a generator, which would never run; return instead"
            )
        self._function = function
        self.is_async = inspect.iscoroutinefunction(function)
        self._hints = _hints(function)
        self._arguments, self.takes_run, self.is_open = _signature(function)
        self._exact = {
            name: hint for name, hint in self._hints.items() if name in self._arguments and hint in EXACT
        }
        self._known = ", ".join(self._arguments) or "none"
        required = (one.name for one in self._arguments.values() if one.default is one.empty)
        self._required = dict.fromkeys(required).keys()
        self._returns = self._hints.get("return", Any)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What the function takes from a payload, for processes that do not have the function."""
        return tuple(
            Parameter(one.name, one.default is one.empty, self._kind(one.name))
            for one in self._arguments.values()
        )

    def check(self, payload: JsonObject) -> None:
        """Raise `InvalidPayload` where the function could not be called with it."""
        if not self._fits(payload):
            self._bind(payload, secrets_of(self._function).named)

    def kept(self, result: Any) -> str | None:
        """What is kept of what the function returned, so that `returned` reads the same."""
        if isinstance(result, str) and self._returns not in (str, Any) and _is_json(result):
            return kept_result(msgspec.json.encode(str(result)).decode())
        return kept_result(result)

    def returned(self, text: str | None) -> Any:
        """What the function returned, in its annotated type; raises `Unreadable` where that was not kept."""
        if text is None:
            return None
        if len(text) > RESULT_LENGTH_MAX:
            raise Unreadable("it is longer than what is kept; return a reference to it instead")
        if text.startswith(NOT_KEPT):
            raise Unreadable(text)
        if self._returns is str:
            return text
        value = _json_or_text(text)
        return value if self._returns is Any else from_json(value, self._returns, _no_secret)

    def call_for(self, run: Run) -> Callable[[], Any]:
        """The call that does this run. A payload that does not fit is a failure that no retry can repair."""
        arguments = run.payload
        try:
            if not self._fits(arguments):
                arguments = self._bind(arguments, secrets_of(self._function).resolved)
        except InvalidPayload as error:
            raise PermanentFailure(str(error)) from None
        leading = (run,) if self.takes_run else ()
        return partial(self._function, *leading, **arguments)

    def _fits(self, payload: JsonObject) -> bool:
        """Whether nothing is missing and each value is of exactly its type: then they are the arguments."""
        wanted = list(map(self._exact.get, payload))
        return list(map(type, payload.values())) == wanted and payload.keys() >= self._required

    def _bind(self, payload: JsonObject, secret_of: SecretOf) -> dict[str, Any]:
        self._check_names(payload)
        return {name: self._convert(name, value, secret_of) for name, value in payload.items()}

    def _check_names(self, payload: JsonObject) -> None:
        for name in payload:
            if name not in self._arguments and not self.is_open:
                raise InvalidPayload(f"payload: unknown name {name!r}; the job takes: {self._known}")
        for name in self._required:
            if name not in payload:
                raise InvalidPayload(f"payload: {name!r} is missing; the job takes: {self._known}")

    def _convert(self, name: str, value: Any, secret_of: SecretOf) -> Any:
        if type(value) is self._exact.get(name):
            return value
        try:
            return from_json(value, self._hints.get(name, Any), secret_of)
        except Unreadable as error:
            raise InvalidPayload(f"payload: {name}: {error}") from None

    def _kind(self, name: str) -> str:
        return kind_of(self._hints.get(name, Any))


class Bound:
    """What an executor of a function says of it."""

    _binding: Binding

    @property
    def takes_run(self) -> bool:
        """Whether the function looks at its run."""
        return self._binding.takes_run

    @property
    def open_payload(self) -> bool:
        """Whether the function takes any further names (`**kwargs`)."""
        return self._binding.is_open

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What the function takes from a payload, for processes that do not have the function."""
        return self._binding.parameters

    def check(self, payload: JsonObject) -> None:
        self._binding.check(payload)


def kept_result(result: Any) -> str | None:
    """The kept form of a function's result: a text as it is, anything else as JSON, in bounds and without
    secrets. The work is done, so a result that cannot be kept fails nothing: a note replaces it."""
    if result is None:
        return None
    return beginning(mask(result if isinstance(result, str) else _json_text(result)))


def _json_text(result: Any) -> str:
    try:
        return msgspec.json.encode(to_json(result)).decode()
    except Exception as error:
        return f"{NOT_KEPT}{type(result).__name__}: {error})"


def _json_or_text(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _is_json(text: str) -> bool:
    return _json_or_text(text) is not text


def _no_secret(given: object) -> Secret:
    raise Unreadable("a secret is never a result")


def plain_payload(values: dict[str, Any]) -> JsonObject:
    """Arguments as JSON: dataclasses, enums, dates and the like in the form in which they come back."""
    try:
        plain: JsonObject = to_json(values)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidPayload(f"payload: {error}") from None
    return plain


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations as types; those that cannot be resolved accept anything."""
    try:
        return typing.get_type_hints(function, include_extras=True)
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
