"""Replies: what processors report about the runs that were sent to them.

Any process of the fleet takes any reply, so none is lost with the process that sent the run. A batch is
received, written to the ledger and acknowledged, in that order: a reply that the ledger does not take now is
delivered again. The ledger compares run key, attempt and fence, so a reply that is late or comes twice
changes nothing; it is counted and dropped. A reply that cannot be read is rejected.

`started` and `heartbeat` count the attempt as alive for one heartbeat timeout. Where the run was cancelled,
or another attempt has it by now, an announcement tells its processor to stop.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from fencepost.config import Settings
from fencepost.core.external_runs import alive_for_s, settle_report
from fencepost.core.messages import (
    REPLIES,
    ReplyForm,
    StopForm,
    control_topic,
    last_moment,
    read_reply,
    reply_destination,
    stop_body,
)
from fencepost.core.messages import Outcome as Said
from fencepost.core.retry_budget import is_first
from fencepost.errors import InvalidPayload
from fencepost.model.clocks import StoreTime, since
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Fence, RunKey, is_deliverer
from fencepost.model.job import JobSpec
from fencepost.model.message import Delivery
from fencepost.model.run import Outcome, ProgressReport, Receipt, RunRecord, RunState, Ticket
from fencepost.ports.broker import Broker, Subscription
from fencepost.ports.run import progress_text
from fencepost.ports.store import Store
from fencepost.services.broker_link import BrokerLink, BrokerService
from fencepost.services.job_cache import JobCache
from fencepost.services.telling import tell_finished, tell_refused
from fencepost.services.trail import Station, Trail
from fencepost.telemetry import traces
from fencepost.telemetry.events import emit
from fencepost.telemetry.message_events import RepliesTaken, ReplyFate
from fencepost.telemetry.secrets import mask, mask_any

BATCH_MAX = 200
HOLD_MAX = 1_000
WAIT_S = 5.0


@dataclass(frozen=True, slots=True)
class Reported:
    """A reply and the run that it is about."""

    form: ReplyForm
    run: RunRecord
    job: JobSpec

    @property
    def ticket(self) -> Ticket:
        """The ticket as the processor has it."""
        return Ticket(self.run.namespace, self.run.run_key, self.form.attempt, Fence(self.form.fence))

    @property
    def who(self) -> str:
        """The processor, as it calls itself."""
        return self.form.processor or "a processor"

    @property
    def gets_on(self) -> bool:
        """Whether it reports progress."""
        return self.form.progress is not None or self.form.note is not None

    @property
    def is_current(self) -> bool:
        """Whether the attempt still owns its run, by what was read."""
        run, form = self.run, self.form
        return run.state is RunState.RUNNING and (run.attempt, run.fence) == (form.attempt, form.fence)


class Replies(BrokerService):
    """Takes replies for one process."""

    name = "replies"

    def __init__(
        self, store: Store, link: BrokerLink, settings: Settings, dice: Callable[[], float], trail: Trail
    ) -> None:
        super().__init__(link)
        link.hears_processors = True
        self._store = store
        self._settings = settings
        self._dice = dice
        self._trail = trail
        self._book = JobCache(store, settings.namespace)
        self._subscription: Subscription | None = None

    async def run_once(self) -> float:
        """Take what has come."""
        broker = await self.link.ready()
        if self._subscription is None:
            source = reply_destination(self._settings.namespace)
            self._subscription = await broker.subscribe(source, REPLIES, HOLD_MAX)
        deliveries = await self._subscription.receive(BATCH_MAX, WAIT_S)
        if deliveries:
            await self._take(broker, self._subscription, deliveries)
        return 0.0

    async def run(self) -> None:
        try:
            await super().run()
        finally:
            if self._subscription is not None:
                await self._subscription.close()

    async def _take(self, broker: Broker, subscription: Subscription, deliveries: Sequence[Delivery]) -> None:
        self.count_again(deliveries)
        readable, unreadable = _read(deliveries)
        try:
            about = self._about([form for _, form in readable])
            reported, now = await asyncio.gather(about, self._store.now())
            await self._heed_signs(broker, [one for one in reported if not one.form.ends], now)
            await self._finish([one for one in reported if one.form.ends], now)
            for delivery, reason in unreadable:
                self.log.warning("a reply cannot be read", message=delivery.id, error=reason)
                await subscription.reject([delivery], reason)
        except BaseException:
            await self.leave(subscription, deliveries)
            raise
        await subscription.acknowledge([delivery for delivery, _ in readable])
        _count(ReplyFate.UNREADABLE, len(unreadable))
        _count(ReplyFate.UNKNOWN, len(readable) - len(reported))

    async def _about(self, forms: Sequence[ReplyForm]) -> list[Reported]:
        """The replies whose runs were sent to a processor, each with its run."""
        keys = list(dict.fromkeys(RunKey(form.run_key) for form in forms))
        runs = await self._store.ledger.get_many(self._settings.namespace, keys) if keys else {}
        found = [await self._with_run(form, runs.get(RunKey(form.run_key))) for form in forms]
        return [one for one in found if one is not None]

    async def _with_run(self, form: ReplyForm, run: RunRecord | None) -> Reported | None:
        job = None if run is None else await self._book.spec(run.job)
        sent = run is not None and (run.worker is None or is_deliverer(run.worker))
        if run is None or job is None or job.message is None or not sent:
            self.log.warning("reply to a run that was not sent to a processor", run_key=form.run_key)
            return None
        return Reported(form, run, job)

    async def _heed_signs(self, broker: Broker, signs: Sequence[Reported], now: StoreTime) -> None:
        """Handle signs of life. The last one of each attempt includes all others, except for their
        progress."""
        if not signs:
            return
        got_on = {one.ticket for one in signs if one.gets_on}
        alive: defaultdict[float, list[Reported]] = defaultdict(list)
        for one in {one.ticket: one for one in signs}.values():
            alive_s = self._alive_s(one, now, one.ticket in got_on) if one.is_current else None
            if alive_s is None:
                await self._tell_to_stop(broker, one, "late" if one.is_current else "lost")
            else:
                alive[alive_s].append(one)
        for alive_s, these in alive.items():
            pulses = await self._store.ledger.pulse([one.ticket for one in these], alive_s)
            for one, pulse in zip(these, pulses, strict=True):
                if not pulse.owned or pulse.cancel_requested:
                    await self._tell_to_stop(broker, one, "cancelled" if pulse.owned else "lost")
        await self._pass_on_progress(signs)
        begun = [one for one in signs if one.is_current and one.form.outcome is Said.STARTED]
        self._trail.note(Station.STARTED, [(one.ticket, f"started by {one.who}") for one in begun])
        _count(ReplyFate.ACCEPTED, sum(one.is_current for one in signs))
        _count(ReplyFate.LATE, sum(not one.is_current for one in signs))

    async def _tell_to_stop(self, broker: Broker, one: Reported, why: str) -> None:
        self.log.run(one.ticket, "its processor is told to stop", why=why)
        form = one.form
        body = stop_body(StopForm(run_key=form.run_key, attempt=form.attempt, fence=form.fence, why=why))
        await broker.announce(control_topic(self._settings.namespace), body)

    def _alive_s(self, one: Reported, now: StoreTime, gets_on: bool) -> float | None:
        """How long the attempt is counted as alive; None where its time is over."""
        assert one.run.started_at is not None, "a running run has been started"
        end = last_moment(one.job, one.run.started_at, now if gets_on else one.run.progress_at)
        return alive_for_s(end, now, self._settings.heartbeat_timeout_s)

    async def _pass_on_progress(self, signs: Iterable[Reported]) -> None:
        reports = [
            ProgressReport(one.ticket, mask_any(progress_text(one.form.progress)), one.form.noted)
            for one in signs
            if one.is_current and one.gets_on
        ]
        if reports:
            await self._store.ledger.report_progress(reports)

    async def _finish(self, ends: Sequence[Reported], now: StoreTime) -> None:
        """All in one write. Of an attempt that reports twice at once the first report counts."""
        first = {one.ticket: one for one in reversed(ends)}
        if not first:
            return
        outcomes = [self._settled(one, now) for one in first.values()]
        receipts = await self._store.ledger.finish(outcomes)
        for one, outcome, receipt in zip(first.values(), outcomes, receipts, strict=True):
            fate = _FATES[receipt]
            _count(fate, 1)
            if receipt is Receipt.ACCEPTED:
                took_s = _took_s(one.run, now)
                tell_finished(one.ticket, one.run.job, outcome.state, took_s)
                traces.reported(one.run, one.run.worker, outcome, now)
            elif receipt is Receipt.REFUSED:
                tell_refused(one.ticket)
            tell = self.log.run_warning if receipt is Receipt.REFUSED or outcome.error else self.log.run
            tell(
                one.ticket,
                "late reply refused" if receipt is Receipt.REFUSED else str(outcome.state),
                attempt=one.form.attempt,
                fence=one.form.fence,
                processor=one.form.processor,
                **({"error": outcome.error} if outcome.error else {}),
            )
        _count(ReplyFate.REPEATED, len(ends) - len(first))
        pairs = zip(first.values(), receipts, strict=True)
        taken = [one for one, receipt in pairs if receipt is Receipt.ACCEPTED]
        told = [(one.ticket, f"{one.form.outcome}, says {one.who}") for one in taken]
        self._trail.note(Station.REPLIED, told)

    def _settled(self, one: Reported, now: StoreTime) -> Outcome:
        """The outcome. The end of a first attempt adds to the retry budget of the process that takes the
        reply."""
        budget = self._book.budget(one.job) if one.is_current else None
        if budget is not None and is_first(one.run):
            budget.earn()
        return settle_report(one.run, one.ticket, one.job, one.form.ending, now, self._dice(), budget)


_FATES = {
    Receipt.ACCEPTED: ReplyFate.ACCEPTED,
    Receipt.REPEATED: ReplyFate.REPEATED,
    Receipt.REFUSED: ReplyFate.LATE,
}


def _read(
    deliveries: Sequence[Delivery],
) -> tuple[list[tuple[Delivery, ReplyForm]], list[tuple[Delivery, str]]]:
    """What can be read, and the rest with the reason."""
    readable: list[tuple[Delivery, ReplyForm]] = []
    unreadable: list[tuple[Delivery, str]] = []
    for one in deliveries:
        try:
            readable.append((one, read_reply(one.body).masked(mask)))
        except InvalidPayload as error:
            unreadable.append((one, str(error)))
    return readable, unreadable


def _count(fate: ReplyFate, replies: int) -> None:
    if replies:
        emit(RepliesTaken(fate, replies))


def _took_s(run: RunRecord, now: StoreTime) -> float | None:
    """By the store's clock: the processor's own is not used."""
    return None if run.started_at is None else max(since(run.started_at, now).total_seconds(), 0.0)
