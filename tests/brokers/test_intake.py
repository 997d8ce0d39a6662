"""Messages become runs: each once, and what cannot be read becomes a dead run."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from fencepost.app import Fencepost
from fencepost.errors import InvalidSpec, StoreUnavailable
from fencepost.model.identifiers import DEFAULT_NAMESPACE, JobName, RunKey
from fencepost.model.intake import Intake
from fencepost.model.job import JobSpec
from fencepost.model.message import Delivery, Message
from fencepost.model.node import BrokerReport
from fencepost.model.run import RunFilter, RunRecord, RunState
from fencepost.ports.run import Run
from fencepost.services import intake
from fencepost.services.broker_link import BrokerLink
from fencepost.services.intake import IntakeService, taken_of
from fencepost.stores.memory import MemoryStore
from fencepost.telemetry.events import listen
from fencepost.telemetry.message_events import BacklogSeen
from fencepost.testing.broker import MemoryBroker
from fencepost.testing.clock import VirtualClock
from tests.services.faults import FaultyStore

NS = DEFAULT_NAMESPACE
START = datetime(2026, 3, 1, 12, tzinfo=UTC)
ORDERS = "shop.orders"


class Shop:
    """An application with one intake, and the loop that serves it."""

    def __init__(self, key: str | None = None) -> None:
        self.app = Fencepost("sqlite:///not-used.db")
        self.done: list[tuple[str, int]] = []

        @self.app.on_message(ORDERS, name="handle", key=key)
        async def handle(run: Run, order: int, amount: float = 0.0) -> None:
            self.done.append((run.key, order))

        self.store = FaultyStore(MemoryStore(VirtualClock(START), 1))
        self.broker = MemoryBroker()

        async def opened() -> MemoryBroker:
            return self.broker

        (intake,) = self.app.intakes
        spec = self.app.jobs[JobName("handle")].spec
        link = BrokerLink(opened, [ORDERS])
        self.service = IntakeService(self.store, intake, spec, link, self.app.settings)

    async def arrive(self, *messages: tuple[str, Any]) -> None:
        """Messages, and the pass that takes them."""
        await self.broker.declare([ORDERS])
        bodies = [body if isinstance(body, bytes) else json.dumps(body).encode() for _, body in messages]
        pairs = zip(messages, bodies, strict=True)
        await self.broker.publish([Message(ORDERS, one[0], body) for one, body in pairs])
        await self.service.run_once()

    async def runs(self) -> dict[RunKey, RunRecord]:
        return {one.run_key: one for one in await self.store.inner.ledger.list(NS, RunFilter())}

    async def waiting(self) -> int | None:
        return await self.broker.backlog(ORDERS, "fencepost")


async def test_no_message_becomes_two_runs() -> None:
    shop = Shop()
    await shop.arrive(("m-1", {"order": 1}), ("m-2", {"order": 2}), ("m-1", {"order": 1}))
    await shop.arrive(("m-2", {"order": 2}))
    runs = await shop.runs()
    assert sorted(runs) == ["handle#shop.orders/m-1", "handle#shop.orders/m-2"]
    assert runs[RunKey("handle#shop.orders/m-1")].payload == {"order": 1}
    assert await shop.waiting() == 0


async def test_messages_with_one_key_field_are_not_two_runs() -> None:
    shop = Shop(key="order")
    await shop.arrive(("m-1", {"order": 7}), ("m-2", {"order": 7, "amount": 3}), ("m-3", {"order": 8}))
    assert sorted(await shop.runs()) == ["handle#shop.orders/7", "handle#shop.orders/8"]


async def test_a_message_is_not_acknowledged_before_the_ledger_has_it() -> None:
    shop = Shop()
    shop.store.fail_before("ledger.enqueue")
    with pytest.raises(StoreUnavailable):
        await shop.arrive(("m-1", {"order": 1}))
    assert await shop.waiting() == 1
    await shop.service.run_once()
    assert len(await shop.runs()) == 1
    assert await shop.waiting() == 0


async def test_a_message_whose_acknowledgement_is_lost_is_no_second_run() -> None:
    shop = Shop()
    shop.store.fail_after("ledger.enqueue")
    with pytest.raises(StoreUnavailable):
        await shop.arrive(("m-1", {"order": 1}))
    await shop.service.run_once()
    assert len(await shop.runs()) == 1
    assert await shop.waiting() == 0


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"not JSON", "Expecting value"),
        (b"\xff\xff", "decode"),
        (b'{"order": ' + b"[" * 20_000 + b"]" * 20_000 + b"}", "recursion"),
        (b"[1]", "the body is a JSON list; expected an object"),
        ({"order": "seven"}, "order = 'seven': expected integer"),
        ({}, "'order' is missing"),
        (b'{"order": 1, "x": "' + b"x" * 300_000 + b'"}', "at most 262144"),
    ],
)
async def test_a_message_that_cannot_be_read_is_not_delivered_for_ever(body: Any, said: str) -> None:
    shop = Shop()
    await shop.arrive(("m-1", body), ("m-2", {"order": 2}))
    assert await shop.waiting() == 0
    bad = (await shop.runs())[RunKey("handle#shop.orders/m-1")]
    assert said in str(bad.payload["fencepost_unreadable"])
    assert len(str(bad.payload)) < 5_000
    execute = shop.app.jobs[JobName("handle")].executor.execute
    with pytest.raises(Exception, match="the message could not be read"):
        await execute(Run(_claim(bad)))
    assert shop.done == []


@pytest.mark.parametrize("key", [None, True, "", 1.5, ["a"]])
async def test_a_key_field_without_a_key_is_told(key: Any) -> None:
    shop = Shop(key="order")
    await shop.arrive(("m-1", {"order": key}))
    (run,) = (await shop.runs()).values()
    assert "field order = " in str(run.payload["fencepost_unreadable"])


async def test_a_loop_that_is_cancelled_in_mid_batch_does_not_go_on_without_a_broker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shop = Shop()
    begun = asyncio.Event()

    async def hang(*arguments: object) -> None:
        begun.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(intake, "enqueue", hang)
    loop = asyncio.create_task(shop.service.run())
    await shop.broker.declare([ORDERS])
    await shop.broker.publish([Message(ORDERS, "m-1", b"{}")])
    await asyncio.wait_for(begun.wait(), 10)
    shop.broker.down = True
    loop.cancel()
    await asyncio.wait({loop}, timeout=10)
    assert loop.cancelled()


async def test_an_intake_that_does_not_keep_up_does_not_hide_it() -> None:
    shop, seen = Shop(), list[BacklogSeen]()
    unlisten = listen(lambda event: seen.append(event) if isinstance(event, BacklogSeen) else None)
    await shop.arrive(("m-1", {"order": 1}), ("m-2", {"order": 2}))
    await shop.arrive(("m-3", {"order": 3}))
    unlisten()
    assert seen == [BacklogSeen(ORDERS, 2)], "once in a while, not with each pass"
    assert shop.service.link.report() == BrokerReport("memory", 0.0, 2)


async def test_a_message_that_cannot_be_read_does_not_take_the_key_of_another() -> None:
    shop = Shop(key="order")
    await shop.arrive(("7", b"not JSON"), ("8", {"order": 7}))
    payloads = [run.payload for run in (await shop.runs()).values()]
    assert {"order": 7} in payloads
    assert len(payloads) == 2


async def test_a_message_without_an_id_is_not_taken_for_another() -> None:
    shop = Shop()
    await shop.arrive(("", {"order": 1}), ("", {"order": 1}))
    assert len(await shop.runs()) == 2


def test_messages_of_two_sources_of_a_job_do_not_share_a_run() -> None:
    name = JobName("handle")
    job = JobSpec(name, open_payload=True)
    whole, parted = (
        taken_of(Delivery(key, b"{}", {}, 1, None), Intake(source, name), job).run.run_key
        for source, key in (("shop", "orders/7"), ("shop/orders", "7"))
    )
    assert whole != parted


async def test_an_id_that_is_no_key_is_not_refused() -> None:
    shop = Shop()
    await shop.arrive(("a#b", {"order": 1}), ("x" * 600, {"order": 2}), ("line\nbreak", {"order": 3}))
    await shop.arrive(("a#b", {"order": 1}))
    runs = await shop.runs()
    assert len(runs) == 3
    assert all(one.state is RunState.READY for one in runs.values())


async def test_an_intake_for_a_job_that_is_not_here_is_refused() -> None:
    app = Fencepost("sqlite:///not-used.db")
    app.message_job("thumbs", reply="result")
    with pytest.raises(InvalidSpec, match="job thumbs is done elsewhere"):
        app.add_intake(ORDERS, "thumbs")


def test_an_intake_says_what_a_source_may_be_called() -> None:
    app = Fencepost("sqlite:///not-used.db")
    with pytest.raises(InvalidSpec, match='intake of job handle: destination "a b": expected 1 to 200'):

        @app.on_message("a b", name="handle")
        def handle() -> None: ...


def _claim(run: RunRecord) -> Any:
    from fencepost.model.clocks import StoreTime
    from fencepost.model.identifiers import Fence
    from fencepost.model.run import Claim

    return Claim(
        NS,
        run.run_key,
        None,
        run.job,
        run.fire_time,
        0,
        1,
        Fence(1),
        run.epoch,
        run.payload,
        run.run_at,
        StoreTime(run.run_at),
    )


def test_what_an_intake_is() -> None:
    app = Shop(key="order").app
    assert app.intakes == [Intake(ORDERS, JobName("handle"), "order", "fencepost")]
