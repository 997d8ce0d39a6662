"""A span that cannot be made does no harm: the errors of a provider, a processor or a sampler of the program
end here, and are logged once for each provider."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from fencepost.telemetry.traces.switch import tracing

P = ParamSpec("P")
T = TypeVar("T")


def otherwise(value: T) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A function that returns this where it would raise."""

    def guard(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def guarded(*given: P.args, **named: P.kwargs) -> T:
            try:
                return function(*given, **named)
            except Exception as error:
                _tell(error)
                return value

        return guarded

    return guard


def _tell(error: Exception) -> None:
    """Logs know the names of traces, so they are imported late."""
    made = tracing()
    if made is None or made.has_failed:
        return
    made.has_failed = True
    from fencepost.telemetry.logs import Log

    Log("traces").error("a span could not be made and is lost; the runs go on", error=repr(error))
