"""The bench for tests that are not async: the same names, each call at its end when it returns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from fencepost.model.durations import Duration
from fencepost.model.identifiers import RunKey
from fencepost.model.run import RunRecord
from fencepost.testing.bench import Bench

if TYPE_CHECKING:
    from fencepost.app import Fencepost

T = TypeVar("T")


class PlainBench:
    """`with PlainBench(app) as bench:` with an event loop of its own; options as of `Bench`. What is not here
    is the bench's own: `bench.stub`, `bench.runs`, `bench.assert_enqueued`…"""

    def __init__(self, app: Fencepost, **options: Any) -> None:
        self._bench = Bench(app, **options)
        self._runner = asyncio.Runner()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bench, name)

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Anything of the application that is async: `bench.call(app.schedules.pause("nightly"))`."""
        return self._runner.run(work)

    def enqueue(
        self,
        job: str | Callable[..., Any],
        /,
        *,
        key: str | None = None,
        at: datetime | None = None,
        **payload: Any,
    ) -> RunKey:
        """One run by hand, as `app.enqueue`."""
        return self.call(self._bench.app.enqueue(job, key=key, at=at, **payload))

    def drain(self) -> list[RunRecord]:
        """Do everything that is due now; see `Bench.drain`."""
        return self.call(self._bench.drain())

    def advance(self, by: Duration) -> list[RunRecord]:
        """Let time pass; see `Bench.advance`."""
        return self.call(self._bench.advance(by))

    def advance_to(self, moment: datetime | str) -> list[RunRecord]:
        """Let time pass until then; see `Bench.advance_to`."""
        return self.call(self._bench.advance_to(moment))

    def __enter__(self) -> Self:
        self.call(self._bench.start())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.call(self._bench.close())
        finally:
            self._runner.close()
