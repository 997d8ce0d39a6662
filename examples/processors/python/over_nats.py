"""A processor over NATS, with nats-py alone. Usage: python over_nats.py nats://localhost thumbs"""

import asyncio
import json
import signal
import sys
from contextlib import suppress

import nats
from nats.errors import TimeoutError as NothingCame
from nats.js.api import ConsumerConfig

AT_ONCE = 4
ACK_WAIT_S = 30.0
WAIT_S = 1.0


async def job(image: int, attempt: int, takes_s: float = 0.0, busy_until: int = 1) -> dict[str, int]:
    """The work itself. It fails in the attempts before `busy_until`."""
    await asyncio.sleep(takes_s)
    if attempt < busy_until:
        raise RuntimeError("no room for the image")
    return {"image": image, "width": 100}


class Processor:
    """Takes messages, does their work, and replies. `works` are the attempts in progress."""

    def __init__(self, client: nats.NATS) -> None:
        self.jetstream = client.jetstream()
        self.works: dict[tuple[str, int], asyncio.Task] = {}
        self.told: dict[tuple[str, int], str] = {}
        self.stopping = asyncio.Event()

    async def lane(self, stream: str, consumer: str) -> None:
        """One message after the other."""
        subscription = await self.jetstream.pull_subscribe_bind(consumer, stream)
        while not self.stopping.is_set():
            with suppress(NothingCame):
                (message,) = await subscription.fetch(1, WAIT_S)
                await self.process(message)

    async def process(self, message: nats.aio.msg.Msg) -> None:
        said = message.headers
        run_key, fence = said["fencepost-run-key"], int(said["fencepost-fence"])
        attempt, timeout = int(said["fencepost-attempt"]), said.get("fencepost-timeout")
        order = {"run_key": run_key, "attempt": attempt, "fence": fence, "processor": "python"}

        async def reply(outcome: str, **more: object) -> None:
            if "fencepost-reply-to" in said:
                form = json.dumps({**order, "outcome": outcome, **more})
                await self.jetstream.publish(said["fencepost-reply-to"], form.encode())

        async def show_life() -> None:
            while True:
                await asyncio.sleep(float(said.get("fencepost-heartbeat-every", 5)))
                with suppress(nats.errors.Error):  # One that is lost is followed by the next.
                    await reply("heartbeat")
                    await message.in_progress()  # NATS keeps the message for us.

        if said.get("fencepost-delivery") == "at_most_once":
            await message.ack_sync()
        await reply("started")
        print("started", run_key, attempt, flush=True)
        work = asyncio.create_task(job(**json.loads(message.data), attempt=attempt))
        self.works[run_key, fence] = work
        life = asyncio.create_task(show_life())
        try:
            result = await asyncio.wait_for(work, timeout and float(timeout))
            ending = {"outcome": "succeeded", "result": result}
        except asyncio.CancelledError:
            ending = {"outcome": "failed", "error": "cancelled", "permanent": True}
        except Exception as error:
            ending = {"outcome": "failed", "error": f"{type(error).__name__}: {error}", "retry_after": 0.1}
        finally:
            life.cancel()
            del self.works[run_key, fence]
        why = self.told.pop((run_key, fence), None)
        if why in (None, "cancelled"):  # Otherwise the run is no longer ours: nothing is said of it.
            await reply(**ending)
        await message.ack_sync()  # Only now: NATS delivers the message again if this process dies before.
        print(why or ending["outcome"], run_key, attempt, flush=True)

    async def stop_work(self, announcement: nats.aio.msg.Msg) -> None:
        """Somebody's run is to stop; it may be one of ours."""
        said = json.loads(announcement.data)
        work = self.works.get((said["run_key"], said["fence"]))
        if work is not None:
            self.told[said["run_key"], said["fence"]] = said["why"]
            work.cancel()


async def main(url: str, destination: str) -> None:
    client = await nats.connect(url)
    processor = Processor(client)
    for one in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(one, processor.stopping.set)
    await client.subscribe("fencepost.announcements.fencepost.control.>", cb=processor.stop_work)
    stream = await processor.jetstream.find_stream_name_by_subject(destination)
    consumer = "fencepost-" + destination.replace(".", "=").replace("/", "+")
    config = ConsumerConfig(durable_name=consumer, filter_subject=destination, ack_wait=ACK_WAIT_S)
    await processor.jetstream.add_consumer(stream, config)
    print("ready", flush=True)
    await asyncio.gather(*(processor.lane(stream, consumer) for _ in range(AT_ONCE)))
    await client.close()


asyncio.run(main(*sys.argv[1:]))
