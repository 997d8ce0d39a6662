"""The behaviour of kept answers: a repeated call is done once, and no caller gets another's answer."""

from __future__ import annotations

import asyncio

from fencepost.model.idempotency import Beginning, Begun, InFlight, KeptResponse, Mismatch
from fencepost.model.identifiers import Namespace
from fencepost.testing.conformance.builders import MANY, NS, OTHER_NS
from fencepost.testing.conformance.harness import StoreHarness

HOLD_S = 30.0
DAY_S = 24 * 3600.0
BODY = b'{"run_key": "report#7"}\x00\xff'
HEADERS = {"Content-Type": "application/json", "ETag": '"7"'}


class AnswerContract:
    """What was answered stays so."""

    async def test_a_call_is_not_done_twice(self, harness: StoreHarness) -> None:
        assert await begin(harness) == Begun(harness.now)
        await keep(harness)
        await harness.advance(DAY_S - 1)
        assert await begin(harness) == KeptResponse(201, BODY, HEADERS)

    async def test_two_do_not_go_ahead_at_the_same_time(self, harness: StoreHarness) -> None:
        every = await asyncio.gather(*(begin(harness) for _ in range(8)))
        assert sorted(type(one).__name__ for one in every) == ["Begun", *["InFlight"] * 7]

    async def test_a_caller_that_never_comes_back_does_not_hold_the_key_for_ever(
        self, harness: StoreHarness
    ) -> None:
        first = harness.now
        await begin(harness)
        await harness.advance(HOLD_S - 1)
        assert await begin(harness) == InFlight()
        await harness.advance(1)
        assert await begin(harness) == Begun(first, again=True)
        assert await begin(harness) == InFlight()

    async def test_a_dropped_call_does_not_wait_nor_forget_when_it_was_asked(
        self, harness: StoreHarness
    ) -> None:
        first = harness.now
        await begin(harness)
        await harness.advance(5)
        await drop(harness)
        assert await begin(harness) == Begun(first, again=True)
        assert await begin(harness) == InFlight()

    async def test_a_kept_answer_is_neither_dropped_nor_replaced(self, harness: StoreHarness) -> None:
        await begin(harness)
        await keep(harness)
        await drop(harness)
        await keep(harness, 500)
        assert await begin(harness) == KeptResponse(201, BODY, HEADERS)

    async def test_an_answer_to_nothing_is_not_kept(self, harness: StoreHarness) -> None:
        await keep(harness)
        await drop(harness)
        assert await begin(harness) == Begun(harness.now)

    async def test_a_key_is_not_taken_for_something_else(self, harness: StoreHarness) -> None:
        await begin(harness)
        assert await begin(harness, fingerprint="other") == Mismatch()
        await drop(harness)
        assert await begin(harness, fingerprint="other") == Mismatch()
        await keep(harness)
        assert await begin(harness, fingerprint="other") == Mismatch()

    async def test_no_caller_meets_the_answer_of_another(self, harness: StoreHarness) -> None:
        await begin(harness)
        await keep(harness)
        assert await begin(harness, namespace=OTHER_NS) == Begun(harness.now)
        assert await begin(harness, principal_id="t2") == Begun(harness.now)
        assert await begin(harness, key="other") == Begun(harness.now)

    async def test_a_swept_key_is_not_remembered_and_a_younger_one_is(self, harness: StoreHarness) -> None:
        await begin(harness)
        await harness.advance(5)
        await begin(harness, key="younger")
        await harness.advance(DAY_S - 5)
        assert await harness.store.answers.sweep(DAY_S, MANY) == 1
        assert await harness.store.answers.sweep(DAY_S, MANY) == 0
        assert await begin(harness) == Begun(harness.now)

    async def test_a_sweep_of_keys_takes_no_more_than_it_may(self, harness: StoreHarness) -> None:
        for number in range(5):
            await begin(harness, key=str(number))
        assert [await harness.store.answers.sweep(0, 2) for _ in range(4)] == [2, 2, 1, 0]


async def begin(
    harness: StoreHarness,
    namespace: Namespace = NS,
    principal_id: str = "t1",
    key: str = "once",
    fingerprint: str = "POST /x",
) -> Beginning:
    """Ask whether to go ahead."""
    return await harness.store.answers.begin(namespace, principal_id, key, fingerprint, HOLD_S)


async def keep(harness: StoreHarness, status: int = 201) -> None:
    """Keep an answer."""
    await harness.store.answers.keep(NS, "t1", "once", status, BODY, HEADERS)


async def drop(harness: StoreHarness) -> None:
    """Let the next call go ahead."""
    await harness.store.answers.drop(NS, "t1", "once")
