"""The threads of plain jobs: a framework may tidy around each of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fencepost import Fencepost, Retry, Run


async def test_each_plain_function_is_called_within_what_surrounds_it(tmp_path: Path) -> None:
    app, seen = Fencepost(f"sqlite:///{tmp_path}/app.db"), list[tuple[str, str]]()
    tidied = asyncio.Event()
    loop = asyncio.get_running_loop()

    def note(word: str) -> None:
        seen.append((word, threading.current_thread().name))

    @contextmanager
    def around() -> Iterator[None]:
        note("before")
        try:
            yield
        finally:
            note("after")
            loop.call_soon_threadsafe(tidied.set)

    @app.job(retry=Retry(max_attempts=1))
    def work(run: Run) -> None:
        note("during")
        raise ValueError("all the more")

    app.surround_threads(around)
    async with app, app.running(plans=False):
        await app.enqueue(work)
        await asyncio.wait_for(tidied.wait(), 20)
    assert [word for word, _ in seen] == ["before", "during", "after"]
    assert len({thread for _, thread in seen}) == 1
    assert seen[0][1] != threading.main_thread().name
