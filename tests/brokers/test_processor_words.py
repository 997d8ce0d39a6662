"""What a job says leaves its processor masked, and as it can be sent."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from fencepost.errors import PermanentFailure, Snooze
from fencepost.model.run import RunState
from fencepost.ports.run import Run
from fencepost.telemetry.secrets import remember
from tests.brokers.post import NS, Post, until
from tests.brokers.test_processor import ended, running


async def test_a_secret_in_words_of_progress_does_not_leave_the_processor() -> None:
    post = Post()
    remember("s3cret-of-shop")

    async def resize(run: Run) -> None:
        run.heartbeat(progress="at s3cret-of-shop", note="with s3cret-of-shop")
        await until(lambda: any(b"progress" in one.body for one in post.broker.published))

    key, _ = await post.one_sent()
    async with running(post, resize, heartbeat_every_s=0.1, heartbeat_timeout_s=10.0):
        assert await ended(post, key) is RunState.SUCCEEDED
    assert not any(b"s3cret" in one.body for one in post.broker.published)


def with_half_a_character() -> str:
    return "\udcff.png"


def failing_with_half_a_character() -> None:
    raise PermanentFailure("no file \udcff.png")


def failing_at_length() -> None:
    raise PermanentFailure("x" * 2_000_000)


@pytest.mark.parametrize(
    "function", [with_half_a_character, failing_with_half_a_character, failing_at_length]
)
async def test_no_words_of_a_job_keep_its_reply_from_the_broker(function: Callable[..., Any]) -> None:
    post = Post()
    key, _ = await post.one_sent()
    async with running(post, function) as processor:
        assert await ended(post, key) in (RunState.SUCCEEDED, RunState.DEAD)
    assert processor._bug is None


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_snooze_in_a_processor_does_not_spend_an_attempt(is_async: bool) -> None:
    post = Post()

    async def resize() -> None:
        raise Snooze("10m", "the picture is not there yet")

    def resize_plainly() -> None:
        raise Snooze("10m", "the picture is not there yet")

    key, _ = await post.one_sent()
    async with running(post, resize if is_async else resize_plainly):
        assert await ended(post, key) is RunState.READY
    run = await post.memory.ledger.get(NS, key)
    assert run is not None
    assert run.reason == "snoozed for 10m: the picture is not there yet"
    assert run.run_at == post.clock.wall() + timedelta(minutes=10)
