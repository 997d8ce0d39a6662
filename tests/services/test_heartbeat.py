"""A busy worker does not look dead, and a lost run does not go on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from fencepost.config import settings_from
from fencepost.core.liveness import sweep_terms
from fencepost.errors import StoreUnavailable, UsageError
from fencepost.model.claiming import ClaimRequest
from fencepost.model.identifiers import JobName, NodeId
from fencepost.model.rescue import Rescue
from fencepost.model.run import Claim, Outcome, Pulse, RunState, Ticket
from fencepost.ports.store import Store
from fencepost.rules.store import LedgerRules
from fencepost.services.active import ActiveRun, ActiveRuns, StopCause
from fencepost.services.heartbeat import Heartbeat, HeartbeatThread
from fencepost.stores.memory import MemoryStore
from fencepost.testing.clock import VirtualClock
from tests.services.conftest import Lines
from tests.services.house import NS, House, until

PATIENCE_S = 10.0


async def begin(house: House, active: ActiveRuns, key: str = "1") -> ActiveRun:
    """An attempt that waits for ever, as a worker would begin it."""
    await house.enqueue(key)
    claim_request = ClaimRequest(NodeId("worker-1"), house.settings.queues, (JobName("report"),), 30)
    (claim,) = await house.memory.ledger.claim_direct(claim_request, 1)
    return attached(claim, active)


def attached(claim: Claim, active: ActiveRuns) -> ActiveRun:
    one = ActiveRun(claim)
    one.attach(asyncio.create_task(_wait()))
    active.add(one)
    return one


async def _wait() -> None:
    await asyncio.Event().wait()


async def test_without_runs_the_store_is_not_asked() -> None:
    house = House()
    heartbeat = Heartbeat(house.store, ActiveRuns(), house.settings)
    assert await heartbeat.run_once() == house.settings.heartbeat_every_s
    assert house.store.calls == []


async def test_all_runs_beat_in_one_statement() -> None:
    house, active = House(), ActiveRuns()
    for key in "123":
        await begin(house, active, key)
    await Heartbeat(house.store, active, house.settings).run_once()
    ((tickets, alive_for_s),) = house.store.arguments("ledger.pulse")
    assert (len(tickets), alive_for_s) == (3, house.settings.heartbeat_timeout_s)


async def test_a_lost_run_is_stopped_and_the_others_are_not() -> None:
    house, active = House(), ActiveRuns()
    lost, kept = await begin(house, active, "1"), await begin(house, active, "2")
    house.clock.advance(20)
    await house.memory.ledger.pulse([kept.ticket], 30)
    house.clock.advance(11)
    (silent,) = (await house.memory.ledger.expired(10, sweep_terms(30))).expired
    await rescue(house, silent.ticket)
    await Heartbeat(house.store, active, house.settings).run_once()
    await until(lambda: lost.cause is not None)
    assert (lost.cause, lost.run.cancelled) == (StopCause.LOST, True)
    assert (kept.cause, kept.run.cancelled) == (None, False)


async def test_after_an_absence_of_the_store_a_heartbeat_does_not_wait_longer_than_its_beat() -> None:
    house = House(heartbeat_every_s=1, heartbeat_timeout_s=3)
    assert Heartbeat(house.store, ActiveRuns(), house.settings).patience_max_s == 1


async def test_a_cancelled_run_is_asked_to_stop() -> None:
    house, active = House(), ActiveRuns()
    one = await begin(house, active)
    await house.memory.ledger.cancel(NS, one.claim.run_key, "enough")
    await Heartbeat(house.store, active, house.settings).run_once()
    await until(lambda: one.cause is not None)
    assert one.cause is StopCause.REQUESTED


async def test_the_first_cause_counts() -> None:
    house, active = House(), ActiveRuns()
    one = await begin(house, active)
    one.stop(StopCause.REQUESTED)
    one.stop(StopCause.SHUTDOWN)
    await until(lambda: one.run.cancelled)
    await asyncio.sleep(0)
    assert one.cause is StopCause.REQUESTED


async def test_a_run_that_ended_during_the_beat_is_not_called_lost() -> None:
    house, active = House(), ActiveRuns()
    one = await begin(house, active)

    async def end() -> None:
        await rescue_by_force(house, one.ticket)
        active.remove(one.ticket)

    house.store.before["ledger.pulse"].append(end)
    await Heartbeat(house.store, active, house.settings).run_once()
    await asyncio.sleep(0)
    assert one.cause is None


async def test_an_answer_that_never_comes_does_not_stop_the_heart() -> None:
    house, active = House(heartbeat_every_s=0.05, heartbeat_timeout_s=30), ActiveRuns()
    await begin(house, active)
    held = house.store.hold("ledger.pulse")
    heartbeat = Heartbeat(house.store, active, house.settings)
    with pytest.raises(StoreUnavailable):
        await heartbeat.run_once()
    assert held.reached.is_set()
    await heartbeat.run_once()
    assert len(house.store.arguments("ledger.pulse")) == 2


async def test_a_run_that_blocks_the_loop_past_its_timeout_does_not_look_alive_for_ever() -> None:
    house, active = House(), ActiveRuns()
    one = await begin(house, active)
    limited = ActiveRun(one.claim, beats_max=2)
    active.add(limited)
    heartbeat = Heartbeat(house.store, active, house.settings)
    for _ in range(4):
        await heartbeat.run_once()
    assert len(house.store.arguments("ledger.pulse")) == 2


async def test_progress_is_passed_on_once() -> None:
    house, active = House(), ActiveRuns()
    one = await begin(house, active)
    heartbeat = Heartbeat(house.store, active, house.settings)
    one.run.heartbeat("10 %")
    one.run.heartbeat("20 %")
    one.run.heartbeat()
    await heartbeat.run_once()
    await heartbeat.run_once()
    assert (await house.run(one.claim.run_key)).progress == "20 %"
    assert len(house.store.arguments("ledger.report_progress")) == 1


async def test_progress_of_all_runs_is_passed_on_in_one_statement() -> None:
    house, active = House(), ActiveRuns()
    runs = [await begin(house, active, key) for key in "123"]
    for number, one in enumerate(runs):
        one.run.heartbeat(number / 4, note=f"part {number}")
    await Heartbeat(house.store, active, house.settings).run_once()
    ((words,),) = house.store.arguments("ledger.report_progress")
    assert [(one.progress, one.note) for one in words] == [
        ("0.0", "part 0"),
        ("0.25", "part 1"),
        ("0.5", "part 2"),
    ]


async def test_progress_that_was_not_taken_is_offered_again() -> None:
    house, active = House(), ActiveRuns()
    one = await begin(house, active)
    one.run.heartbeat(0.5, "half")
    house.store.fail_before("ledger.report_progress")
    heartbeat = Heartbeat(house.store, active, house.settings)
    with pytest.raises(StoreUnavailable):
        await heartbeat.run_once()
    one.run.heartbeat(0.6)
    await heartbeat.run_once()
    run = await house.run(one.claim.run_key)
    assert (run.progress, run.note) == ("0.6", "half")


async def test_a_sign_of_progress_without_words_is_passed_on() -> None:
    house, active = House(), ActiveRuns()
    one = await begin(house, active)
    one.run.heartbeat()
    await Heartbeat(house.store, active, house.settings).run_once()
    assert (await house.run(one.claim.run_key)).progress_at == house.clock.wall()


async def test_a_run_that_has_just_been_finished_is_not_called_lost(lines: Lines) -> None:
    """Its report is in the ledger, and the answer is on its way to the reporter."""
    house, active = House(), ActiveRuns()
    one = await begin(house, active)
    one.task.cancel()
    await asyncio.wait({one.task})
    await house.memory.ledger.finish([Outcome(one.ticket, RunState.SUCCEEDED)])
    await Heartbeat(house.store, active, house.settings).run_once()
    assert lines.about("lost to another attempt") == []


@pytest.mark.parametrize("progress", [1.5, -0.1, float("nan"), 2])
async def test_a_share_beyond_the_whole_is_refused(progress: float) -> None:
    house, active = House(), ActiveRuns()
    one = await begin(house, active)
    with pytest.raises(UsageError, match="share from 0 to 1"):
        one.run.heartbeat(progress)


@pytest.mark.parametrize(
    ("progress", "kept"), [(0, "0.0"), (1, "1.0"), (0.4, "0.4"), (1 / 3, "0.3333"), ("3 of 7", "3 of 7")]
)
async def test_a_share_is_kept_as_a_number_and_a_text_as_it_is(progress: float | str, kept: str) -> None:
    house, active = House(), ActiveRuns()
    one = await begin(house, active)
    one.run.heartbeat(progress)
    assert one.run.said is not None
    assert one.run.said.progress == kept


class CountingLedger(LedgerRules):
    """Counts beats, and lets another thread wait for the next ones."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store.memory)
        self.beats = threading.Semaphore(0)
        self.threads: set[str] = set()
        self.broken: Exception | None = None

    async def pulse(self, tickets: Sequence[Ticket], alive_for_s: float) -> Sequence[Pulse]:
        if self.broken is not None:
            raise self.broken
        self.threads.add(threading.current_thread().name)
        self.beats.release()
        return [Pulse(owned=True) for _ in tickets]


class Heart:
    """A heart in a thread over a store that only counts."""

    def __init__(self) -> None:
        self.house = House()
        self.active = ActiveRuns()
        self.store = MemoryStore(VirtualClock())
        self.ledger = self.store.ledger = CountingLedger(self.store)
        self.opened = threading.Semaphore(0)
        self.closed = threading.Event()
        self.refusals = 0
        self.store.close = self._close  # type: ignore[method-assign]
        settings = settings_from({}, overrides={"heartbeat_every_s": 0.01, "heartbeat_timeout_s": 1})
        self.thread = HeartbeatThread(self._open, self.active, settings)

    async def _open(self) -> Store:
        self.opened.release()
        if self.refusals:
            self.refusals -= 1
            raise StoreUnavailable("not yet")
        return self.store

    async def _close(self) -> None:
        self.closed.set()

    def feel(self, beats: int) -> bool:
        """Block this thread, and with it its event loop, until so many beats have come."""
        return all(self.ledger.beats.acquire(timeout=PATIENCE_S) for _ in range(beats))


async def stop(beating: asyncio.Task[None]) -> None:
    beating.cancel()
    await asyncio.wait({beating})


async def test_a_blocked_loop_does_not_stop_the_heart() -> None:
    heart = Heart()
    await begin(heart.house, heart.active)
    beating = asyncio.create_task(heart.thread.run())
    await asyncio.sleep(0)
    assert heart.feel(beats=5)
    assert heart.ledger.threads == {"fencepost-heartbeat"}
    await stop(beating)
    assert heart.closed.wait(PATIENCE_S)


async def test_a_store_that_cannot_be_opened_is_tried_again() -> None:
    heart = Heart()
    heart.refusals = 2
    await begin(heart.house, heart.active)
    beating = asyncio.create_task(heart.thread.run())
    await asyncio.sleep(0)
    assert heart.feel(beats=1)
    await stop(beating)
    assert heart.closed.wait(PATIENCE_S)


async def test_a_heart_that_breaks_is_not_kept_secret() -> None:
    heart = Heart()
    heart.ledger.broken = RuntimeError("a bug")
    await begin(heart.house, heart.active)
    with pytest.raises(RuntimeError, match="a bug"):
        await asyncio.wait_for(heart.thread.run(), PATIENCE_S)
    assert heart.closed.wait(PATIENCE_S)


async def test_a_heart_that_is_stopped_while_the_store_is_away_does_not_go_on_trying() -> None:
    heart = Heart()
    heart.refusals = 1_000_000
    beating = asyncio.create_task(heart.thread.run())
    await asyncio.sleep(0)
    assert heart.opened.acquire(timeout=PATIENCE_S)
    await stop(beating)
    heart.thread._thread.join(PATIENCE_S)
    assert not heart.thread._thread.is_alive()


async def test_a_heart_that_is_stopped_at_once_does_not_beat_on() -> None:
    for _ in range(20):
        heart = Heart()
        beating = asyncio.create_task(heart.thread.run())
        await asyncio.sleep(0)
        await stop(beating)
        heart.thread._thread.join(PATIENCE_S)
        assert not heart.thread._thread.is_alive()


async def rescue(house: House, ticket: Ticket) -> None:
    await house.memory.ledger.rescue([Rescue(ticket, RunState.READY, "silent")])


async def rescue_by_force(house: House, ticket: Ticket) -> None:
    house.clock.advance(31)
    await rescue(house, ticket)
