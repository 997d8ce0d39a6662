"""What goes over a message broker: our steps, and a bare publisher of the same client library with the same
confirms in flight. `options.table` is the broker's URL."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

from benchmarks.peers.measuring import (
    PATIENCE_S,
    PAYLOAD,
    Answer,
    Counter,
    Meter,
    Options,
    batches,
    main,
    pick_ups,
    ready,
)
from fencepost import Fencepost
from fencepost.assembly import build_processors
from fencepost.config import Settings
from fencepost.model.message import Confirmed, Message
from fencepost.ports.broker import Broker
from fencepost.services.deliverer import BATCH_MAX, SENDING_MAX
from fencepost.telemetry.events import RunEnded, listen
from fencepost.telemetry.message_events import MessagesTaken
from fencepost.wiring import migrate, open_broker

EVENTS, THUMBS, ORDERS = "bench.events", "bench.thumbs", "bench.orders"
OUT, BACK = "bench.out", "bench.back"
ECHO_WAIT_S = 5.0
BODY = json.dumps(PAYLOAD).encode()
OURS = uuid4().hex
"""Of this process: a broker drops messages whose ids it has seen a moment ago."""


async def install(options: Options) -> None:
    await migrate(Settings(store=options.url))


async def fill(options: Options) -> None:
    """Runs that are due, to be sent."""
    app = _application(options)
    async with app:
        await app.control()
        for batch in batches(options.count):
            await app.enqueue_many("events", batch)


async def bare(options: Options) -> Answer:
    """As many messages by the client library alone, in batches of as many confirms as ours, and as many
    batches in flight."""
    connect = _bare_rabbitmq if options.table.startswith("amqp") else _bare_nats
    async with connect(options.table) as publish:
        await asyncio.to_thread(ready)
        meter = Meter(options)
        starts = iter(range(0, options.count, BATCH_MAX))

        async def batch_after_batch() -> None:
            for start in starts:
                numbers = range(start, min(start + BATCH_MAX, options.count))
                await asyncio.gather(*map(publish, numbers))

        await asyncio.gather(*(batch_after_batch() for _ in range(SENDING_MAX)))
        return meter.read(options.count)


async def deliver(options: Options) -> Answer:
    """From the ledger to the broker and back: claimed, published, confirmed, ended."""
    app, ended = _application(options), asyncio.Event()
    left = options.count

    def note(event: object) -> None:
        nonlocal left
        if isinstance(event, RunEnded):
            left -= 1
            if left == 0:
                ended.set()

    unlisten = listen(note)
    async with app:
        await asyncio.to_thread(ready)
        meter = Meter(options)
        async with app.running(plans=False):
            await asyncio.wait_for(ended.wait(), PATIENCE_S)
            answer = meter.read(options.count)
    unlisten()
    return answer


async def trip(options: Options) -> Answer:
    """From before the enqueue until the ledger has the processor's result, one after the other."""
    app, counter = _application(options), Counter()
    unlisten = listen(lambda event: counter.note() if isinstance(event, RunEnded) else None)
    stop = asyncio.Event()
    async with app:
        processors = await build_processors(app.settings, app.jobs_here, [THUMBS])
        task = asyncio.create_task(processors.run(stop))
        async with app.running(plans=False):
            answer = await pick_ups(options.count, lambda: app.enqueue("thumbs", **PAYLOAD), counter)
        stop.set()
        await task
    unlisten()
    return answer


async def echo(options: Options) -> Answer:
    """The limit of a round trip: a message there and its answer back, both confirmed, and no ledger."""
    broker, counter = await open_broker(Settings(broker=options.table)), Counter()
    await broker.declare([OUT, BACK])
    out, back = [await broker.subscribe(one, "bench", BATCH_MAX) for one in (OUT, BACK)]

    async def answer() -> None:
        while True:
            for one in await out.receive(BATCH_MAX, ECHO_WAIT_S):
                await _sent(broker, BACK)
                await out.acknowledge([one])

    async def arrive_back() -> None:
        while True:
            for one in await back.receive(BATCH_MAX, ECHO_WAIT_S):
                counter.note()
                await back.acknowledge([one])

    tasks = [asyncio.create_task(one()) for one in (answer, arrive_back)]
    found = await pick_ups(options.count, lambda: _sent(broker, OUT), counter)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    await broker.close()
    return found


async def _sent(broker: Broker, destination: str) -> None:
    assert await broker.publish([Message(destination, uuid4().hex, BODY)]) == [Confirmed()]


async def arrive(options: Options) -> None:
    """Messages that wait to be taken in."""
    broker = await open_broker(Settings(broker=options.table))
    await broker.declare([ORDERS])
    for start in range(0, options.count, BATCH_MAX):
        some = range(start, min(start + BATCH_MAX, options.count))
        answers = await broker.publish([Message(ORDERS, f"{OURS}-{n}", BODY) for n in some])
        assert set(answers) == {Confirmed()}
    await broker.close()


async def intake(options: Options) -> Answer:
    """From the broker into the ledger, acknowledged."""
    app, taken = _application(options, takes=True), asyncio.Event()
    left = options.count

    def note(event: object) -> None:
        nonlocal left
        if isinstance(event, MessagesTaken):
            left -= event.new
            if left <= 0:
                taken.set()

    unlisten = listen(note)
    async with app:
        await asyncio.to_thread(ready)
        meter = Meter(options)
        async with app.running(plans=False):
            await asyncio.wait_for(taken.wait(), PATIENCE_S)
            answer = meter.read(options.count)
    unlisten()
    return answer


def _application(options: Options, *, takes: bool = False) -> Fencepost:
    """One that sends, does and replies, or one that takes messages in and does none of their runs."""
    app = Fencepost(options.url, broker=options.table)
    if takes:

        @app.on_message(ORDERS, name="handle", queue="nobody")
        async def handle(**order: Any) -> None: ...

        return app
    app.message_job("events", destination=EVENTS)

    @app.message_job("thumbs", destination=THUMBS, reply="result")
    async def thumbs(**payload: Any) -> None: ...

    return app


Publish = Callable[[int], Coroutine[Any, Any, object]]


@asynccontextmanager
async def _bare_rabbitmq(url: str) -> AsyncIterator[Publish]:
    import aio_pika

    async with await aio_pika.connect(url) as connection:
        channel = await connection.channel(publisher_confirms=True, on_return_raises=True)
        await channel.declare_queue(EVENTS, durable=True, arguments={"x-queue-type": "quorum"}, passive=True)
        exchange, durable = channel.default_exchange, aio_pika.DeliveryMode.PERSISTENT

        def publish(number: int) -> Coroutine[Any, Any, object]:
            message = aio_pika.Message(BODY, message_id=f"{OURS}-{number}", delivery_mode=durable)
            return exchange.publish(message, EVENTS, mandatory=True)

        yield publish


@asynccontextmanager
async def _bare_nats(url: str) -> AsyncIterator[Publish]:
    import nats

    client = await nats.connect(url)
    stream = client.jetstream()

    def publish(number: int) -> Coroutine[Any, Any, object]:
        return stream.publish(EVENTS, BODY, headers={"Nats-Msg-Id": f"{OURS}-{number}"})

    yield publish
    await client.close()


STEPS = {
    "install": install,
    "fill": fill,
    "bare": bare,
    "deliver": deliver,
    "trip": trip,
    "echo": echo,
    "arrive": arrive,
    "intake": intake,
}

if __name__ == "__main__":
    main(STEPS)
