"""How often a broker is asked what waits for processors."""

from __future__ import annotations

import pytest

from fencepost.services.deliverer import BATCH_MAX
from tests.brokers.post import Post


@pytest.mark.parametrize(("ahead_max", "questions"), [(1_000, 1), (BATCH_MAX + 1, 3)])
async def test_a_broker_is_not_asked_what_waits_before_each_batch(
    ahead_max: int, questions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked again where a batch might not fit."""
    monkeypatch.setattr("fencepost.services.backlogs.FRESH_S", 600.0)
    post, asked = Post(route={"ahead_max": ahead_max}), list[str]()
    answer = post.broker.backlog

    async def backlog(destination: str, group: str) -> int | None:
        asked.append(destination)
        return await answer(destination, group)

    monkeypatch.setattr(post.broker, "backlog", backlog)
    for batch in ("12", "34", "56"):
        await post.enqueue(*batch)
        await post.deliverer.run_once()
    assert len(asked) == questions
