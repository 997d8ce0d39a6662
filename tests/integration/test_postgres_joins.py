"""Two predecessors of a join that end at the same moment, in transactions that do not see each other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from fencepost.model.identifiers import RunKey
from fencepost.model.run import RunState
from fencepost.rules import successors
from fencepost.testing.conformance.builders import JOB, OTHER_JOB, claim, enqueue, finish, states, success
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.successors import follow
from tests.conformance.on_postgres import open_postgres
from tests.integration.waiting import BLOCKED, until

pytestmark = pytest.mark.postgres


@pytest.fixture
async def harness(postgres_url: str) -> AsyncIterator[StoreHarness]:
    opened = await open_postgres(postgres_url)
    yield opened
    await opened.close()


async def test_two_ends_at_once_do_not_each_miss_the_other(
    harness: StoreHarness, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first to look who has ended waits until the other has looked as well, or waits for a lock."""
    complete, looked = successors._complete, list[Any]()
    watcher = await asyncpg.connect(postgres_url)

    async def other_is_there() -> bool:
        return len(looked) == 2 or bool(await watcher.fetchval(BLOCKED))

    async def complete_together(tx: Any, links: Any) -> Any:
        found = await complete(tx, links)
        looked.append(found)
        await until(other_is_there)
        return found

    monkeypatch.setattr(successors, "_complete", complete_together)
    await follow(harness, JOB, OTHER_JOB)
    for job in (JOB, OTHER_JOB):
        await enqueue(harness, "one", job=job)
    claims = await claim(harness)
    async with asyncio.timeout(60):
        await asyncio.gather(*(finish(harness, success(one.ticket)) for one in claims))
    await watcher.close()
    assert await states(harness, RunKey("load#join#one")) == [RunState.READY]
