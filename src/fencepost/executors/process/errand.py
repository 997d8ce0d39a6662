"""One run in the hands of a child, seen from the worker."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from fencepost.executors.output import Output
from fencepost.ports.run import Run


@dataclass(frozen=True)
class Done:
    """The function returned; `result` is what to keep of it."""

    result: str | None


@dataclass(frozen=True)
class Raised:
    """The function raised: the error as the child tells it."""

    error: str
    detail: str | None
    kinds: tuple[str, ...]
    permanent: bool
    retry_after: str | float | None


@dataclass(frozen=True)
class Died:
    """The child ended before it had answered; without `begun`, before it had called the function."""

    status: int
    begun: bool


Answer: TypeAlias = Done | Raised | Died


@dataclass
class Errand:
    """What a child has been told to do, and what is known of it."""

    number: int
    run: Run
    output: Output
    answer: asyncio.Future[Answer]
    begun: bool = field(default=False)

    def end(self, answer: Answer) -> None:
        """The first answer counts."""
        self.output.end_line()
        if not self.answer.done():
            self.answer.set_result(answer)


def raised(said: dict[str, Any]) -> Raised:
    """A child's word of an error; anything missing or odd in it raises `LookupError` or `TypeError`."""
    wait = said["retry_after"]
    return Raised(
        error=str(said["error"]),
        detail=str(said["detail"]),
        kinds=tuple(str(one) for one in said["kinds"]),
        permanent=said["permanent"] is True,
        retry_after=wait if isinstance(wait, str | int | float) else None,
    )
