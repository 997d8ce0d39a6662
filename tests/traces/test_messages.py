"""A run that is sent by a message broker is one trace: its headers link the processor to who sent it."""

from __future__ import annotations

import asyncio

from opentelemetry import trace

from fencepost.model.run import RunState
from fencepost.ports.run import Run
from tests.brokers.post import Post, until
from tests.traces.kept import KeptSpans, above, place, said


async def test_no_link_of_the_trace_breaks_at_the_broker(spans: KeptSpans) -> None:
    post, seen = Post(), list[str]()

    def thumbs(run: Run) -> str:
        here = trace.get_current_span().get_span_context()
        seen.append(f"{here.trace_id:032x}")
        return str(run.traceparent)

    key, message = await post.one_sent()
    processor = post.processor(thumbs)
    loops = [asyncio.create_task(one.run()) for one in (processor, post.replies)]
    try:
        await until(lambda: is_over(post, key))
    finally:
        await processor.stop(0.0, asyncio.Event())
        for one in loops:
            one.cancel()
        await asyncio.gather(*loops, return_exceptions=True)
    attempt, run = spans.only("attempt", attempt=1), spans.only("run")
    assert above(attempt) == place(run)
    told = "00-{:032x}-{:016x}-01".format(*place(attempt))
    assert message.headers["traceparent"] == told
    replies = [one for one in post.broker.published if one.destination.startswith("fencepost.replies.")]
    assert {one.headers["traceparent"] for one in replies} == {told}
    assert seen == [f"{place(attempt)[0]:032x}"]
    (kept,) = await post.memory.ledger.attempts(post.settings.namespace, key)
    assert kept.output == told
    assert (said(attempt, "outcome"), said(run, "state")) == ("succeeded", "succeeded")


async def test_an_event_has_the_trace_of_its_run_too(spans: KeptSpans) -> None:
    post = Post(reply="none")
    key, message = await post.one_sent()
    assert await post.state(key) is RunState.SUCCEEDED
    told = "00-{:032x}-{:016x}-01".format(*place(spans.only("attempt", attempt=1)))
    assert message.headers["traceparent"] == told


async def is_over(post: Post, key: object) -> bool:
    return await post.state(key) is RunState.SUCCEEDED  # type: ignore[arg-type]
