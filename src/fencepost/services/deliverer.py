"""The deliverer: claims due runs of message jobs and sends them by the broker.

A run is claimed as by any worker, with its attempt, its fence and its policies, under a name of the node's
own (`model.identifiers.deliverer`). A batch is published with all confirms in flight; while one travels the
next one is claimed. What follows from the broker's answer:

- *Confirmed*, and no result is expected: the run has succeeded.
- *Confirmed*, and a processor is to report: the run goes on, and may wait for a processor as long as its
  route says. From then on the replies keep it alive and end it (`services.replies`).
- *Refused*: the attempt failed, with the broker's reason.
- *Unconfirmed*: the broker may have it. The run is handed back and sent again, at no cost of an attempt; the
  message has the same id where no result is expected. A run that must not begin twice ends as lost instead.

The deliverer keeps nothing that a restart would need: the ledger has the claims, and any deliverer of the
fleet takes any reply. While the broker is away it claims nothing. At most `ahead_max` messages of a job with
results wait in its destination, so that a run is not sent long before a processor has time for it.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import assert_never

from fencepost.config import Settings
from fencepost.core.messages import message_of, route_of
from fencepost.core.outcome import (
    Ending,
    Failed,
    Interrupted,
    NotBegun,
    Overdue,
    Round,
    Succeeded,
    settle,
)
from fencepost.core.retry import misses_deadline
from fencepost.core.retry_budget import RetryBudget, is_first
from fencepost.errors import BrokerRefused, BrokerUnavailable, InvalidPayload, StoreUnavailable
from fencepost.model.claiming import ClaimRequest
from fencepost.model.clocks import since
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Fence, JobName, NodeId, deliverer
from fencepost.model.job import JobSpec
from fencepost.model.message import Confirmed, Message, Publication, Refused, Reply, Unconfirmed
from fencepost.model.run import Claim, Outcome, Receipt, Ticket
from fencepost.ports.broker import Broker
from fencepost.ports.signals import Topic
from fencepost.ports.store import Store
from fencepost.services.backlogs import Backlogs
from fencepost.services.broker_link import BrokerLink, BrokerService
from fencepost.services.chains import with_predecessors
from fencepost.services.claiming import helpings
from fencepost.services.service import patience_s
from fencepost.services.taking import FEW, Taking
from fencepost.services.telling import tell_finished, tell_refused
from fencepost.services.trail import Station, Trail
from fencepost.telemetry import traces
from fencepost.telemetry.events import emit
from fencepost.telemetry.message_events import Answer, MessagesPublished

BATCH_MAX = 200
SENDING_MAX = 3
"""How many batches may be on their way at once."""
GIVEN_MAX = 10_000
"""The number of the latest claims whose fences are remembered."""
FAREWELL_S = 5.0
FULL_REST_S = 0.25
"""When to look again whether processors have made room."""


class Deliverer(BrokerService):
    """Sends the message runs that one process claims."""

    name = "deliverer"

    def __init__(
        self,
        store: Store,
        jobs: Mapping[JobName, JobSpec],
        link: BrokerLink,
        settings: Settings,
        node_id: NodeId,
        dice: Callable[[], float],
        trail: Trail,
    ) -> None:
        super().__init__(link)
        self._store = store
        self._jobs = jobs
        self._settings = settings
        self._claim_request = ClaimRequest(
            worker=deliverer(node_id),
            queues=settings.queues,
            jobs=tuple(sorted(jobs)),
            alive_for_s=settings.heartbeat_timeout_s,
            namespace=settings.namespace,
        )
        self._taking = Taking(settings, [name for name, job in jobs.items() if job.limit is not None])
        self._dice = dice
        self._budgets = {
            name: RetryBudget(job.retry.budget) for name, job in jobs.items() if job.retry.budget is not None
        }
        self.sending: set[asyncio.Task[bool]] = set()
        """Batches on their way."""
        self._unreported: list[Report] = []
        self._reporting = asyncio.Lock()
        self._given = deque[Fence]()
        """The fences of the latest claims whose answers came, and the largest of those before them."""
        self._given_before = Fence(0)
        self._answer_lost = False
        self._sent_untold: list[Claim] = []
        """Runs that were sent to a processor without the ledger having noted it yet."""
        self._bug: BaseException | None = None
        self._draining = False
        self._trail = trail
        self._backlogs = Backlogs(link.waiting, BATCH_MAX)
        self._unanswered = 0
        """How many batches in a row the broker did not answer."""
        self._paused_until_s = 0.0

    async def _pass(self) -> float:
        """Runs that the broker did not answer for are due again at once, so the next pass waits."""
        rest_s = self._paused_until_s - _now_s()
        return rest_s if rest_s > 0 else await super()._pass()

    async def run_once(self) -> float:
        """Claim what there is room for and begin to send it."""
        if self._bug is not None:
            raise self._bug
        await self._let_wait(())
        await self._hand_back_lost()
        await self._report()
        if self._draining:
            return self._settings.poll_s
        broker = await self.link.ready()
        if len(self.sending) >= SENDING_MAX:
            await asyncio.wait(self.sending, return_when=asyncio.FIRST_COMPLETED)
            return 0.0
        bounds = await self._bounds(broker)
        is_full = any(most == 0 for _, most in bounds)
        rest_s = FULL_REST_S if is_full else self._settings.poll_s
        for claim_request, limit in helpings(self._claim_request, BATCH_MAX, bounds):
            claims, looked_s = await self._take(claim_request, limit)
            if claims:
                traces.lent(claims, claim_request.worker)
                self._begin(broker, claims)
                return looked_s if len(claims) < min(limit, FEW) else 0.0
            rest_s = min(rest_s, looked_s)
        if not is_full and not self.sending:
            self._taking.rest(rest_s)
        return rest_s

    def drain(self, draining: bool) -> None:
        """Claim no more, or go on; what was sent stays with its processors."""
        self._draining = draining
        self.wakeup.wake()

    async def run(self) -> None:
        """Pass after pass; a hint that runs are due cuts the rest between two of them short."""
        unlisten = await self._store.signals.listen(Topic.RUNS, self.wakeup.wake)
        try:
            await super().run()
        finally:
            unlisten()
            await self._wait_for_sending()
            for one in self.sending:
                one.cancel()
            await self._wait_for_sending()
            with suppress(StoreUnavailable, TimeoutError):
                async with asyncio.timeout(FAREWELL_S):
                    await self._let_wait(())
                    await self._report()

    async def _wait_for_sending(self) -> None:
        if self.sending:
            await asyncio.wait(self.sending, timeout=FAREWELL_S)

    async def _take(self, claim_request: ClaimRequest, limit: int) -> tuple[Sequence[Claim], float]:
        """When the loop is cancelled, wait for a claim that is on its way and hand its runs back: they are
        ours already, and silence would cost them an attempt."""
        taking = asyncio.ensure_future(self._claimed(claim_request, limit))
        try:
            claims, rest_s = await asyncio.shield(taking)
        except StoreUnavailable:
            self._answer_lost = True
            raise
        except asyncio.CancelledError:
            with suppress(StoreUnavailable, TimeoutError):
                async with asyncio.timeout(FAREWELL_S):
                    claims, _ = await taking
                    self._unreported += [self._settled(one, NotBegun(), 0.0) for one in claims]
            raise
        self._given += [one.fence for one in claims]
        while len(self._given) > GIVEN_MAX:
            self._given_before = max(self._given_before, self._given.popleft())
        return claims, rest_s

    async def _claimed(self, claim_request: ClaimRequest, limit: int) -> tuple[Sequence[Claim], float]:
        """Claims, with the runs that they followed."""
        ledger, following = self._store.ledger, [name for name, job in self._jobs.items() if job.after]
        claims, rest_s = await self._taking.take(ledger, claim_request, limit)
        return await with_predecessors(ledger, claims, following), rest_s

    async def _hand_back_lost(self) -> None:
        """A claim whose answer was lost may have been granted; nothing of it was sent."""
        if not self._answer_lost:
            return
        mine = await self._store.ledger.adopt(self._claim_request.worker, list(self._given))
        lost = [one for one in mine if one.fence > self._given_before]
        self._unreported += [self._settled(one, NotBegun(), 0.0) for one in lost]
        self._answer_lost = False

    async def _bounds(self, broker: Broker) -> list[tuple[Collection[JobName], int]]:
        """How many more runs of each job with results may be sent."""
        found: list[tuple[Collection[JobName], int]] = []
        for name, job in self._jobs.items():
            route = route_of(job)
            if route.reply is Reply.RESULT:
                found.append(([name], await self._backlogs.room(broker, route.destination, route.ahead_max)))
        return found

    def _begin(self, broker: Broker, claims: Sequence[Claim]) -> None:
        self._backlogs.note_sent(map(self._destination, claims))
        task = asyncio.create_task(self._send(broker, claims, _now_s()))
        self.sending.add(task)
        task.add_done_callback(self._sent)

    def _sent(self, task: asyncio.Task[bool]) -> None:
        """Where all sent runs wait for processors, nothing is due that was not due before."""
        self.sending.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, StoreUnavailable):
            self._bug = error
        if task.cancelled() or error is not None or task.result():
            self.wakeup.wake()

    async def _send(self, broker: Broker, claims: Sequence[Claim], claimed_s: float) -> bool:
        """Whether attempts have ended: they may be tried again, and others may begin in their place."""
        late = [claim for claim in claims if self._is_overdue(claim)]
        in_time = [claim for claim in claims if not self._is_overdue(claim)] if late else claims
        answers = await self._publish(broker, in_time)
        took_s = _now_s() - claimed_s
        endings: list[tuple[Claim, Ending | None]] = [(claim, Overdue()) for claim in late]
        pairs = zip(in_time, answers, strict=True)
        endings += [(claim, self._ending(claim, answer)) for claim, answer in pairs]
        self._unreported += [self._settled(claim, one, took_s) for claim, one in endings if one is not None]
        waiting = [claim for claim, ending in endings if ending is None]
        await self._let_wait(waiting)
        await self._report()
        told = [
            (one.ticket, f"published to {self._destination(one)}, {broker.name} has it") for one in waiting
        ]
        self._trail.note(Station.PUBLISHED, told)
        return len(waiting) < len(claims)

    async def _publish(self, broker: Broker, claims: Sequence[Claim]) -> Sequence[Publication | None]:
        """An answer for each; None where the broker was not reached at all."""
        drafts = [self._draft(one) for one in claims]
        messages = [one for one in drafts if isinstance(one, Message)]
        answers = iter(await self._answers_to(broker, messages) if messages else ())
        return [next(answers) if isinstance(one, Message) else one for one in drafts]

    def _draft(self, claim: Claim) -> Message | Refused:
        """The message of an attempt; an attempt without a valid message is refused before it is sent."""
        every_s = self._settings.heartbeat_every_s
        try:
            return message_of(claim, self._jobs[claim.job], traces.carried_for(claim), every_s)
        except InvalidPayload as error:
            return Refused(str(error), permanent=True)

    async def _answers_to(self, broker: Broker, messages: Sequence[Message]) -> Sequence[Publication | None]:
        try:
            async with asyncio.timeout(self._settings.heartbeat_timeout_s / 2):
                answers = await broker.publish(messages)
        except (BrokerUnavailable, BrokerRefused) as error:
            self._wait_for_broker(error)
            self._pause()
            return [None] * len(messages)
        except (TimeoutError, asyncio.CancelledError):  # A deliverer that stops waits no longer.
            answers = [Unconfirmed("no confirm came in time")] * len(messages)
        counts = Counter(_ANSWERS[type(one)] for one in answers)
        if counts[Answer.UNCONFIRMED]:
            self.link.forget()
            self._pause()
        else:
            self._unanswered = 0
        pairs = zip(messages, answers, strict=True)
        self.link.doubt(one.destination for one, said in pairs if _is_refused_for_now(said))
        emit(MessagesPublished(broker.name, counts))
        self.log.info("published", broker=broker.name, **{str(one): number for one, number in counts.items()})
        return answers

    def _pause(self) -> None:
        self._unanswered += 1
        self._paused_until_s = _now_s() + patience_s(self._unanswered)

    def _ending(self, claim: Claim, answer: Publication | None) -> Ending | None:
        """How the attempt ended; None where a processor is to report that."""
        job = self._jobs[claim.job]
        route = route_of(job)
        match answer:
            case Confirmed():
                is_over = route.reply is Reply.NONE
                return Succeeded(f"published to {route.destination}") if is_over else None
            case Refused(reason, permanent):
                words = f"MessageRefused: {route.destination}: {reason}"
                return Failed(words, permanent=permanent, kinds=("MessageRefused",))
            case Unconfirmed():
                return Interrupted() if job.at_most_once else NotBegun()
            case None:
                return NotBegun()
            case _ as never:
                assert_never(never)

    def _destination(self, claim: Claim) -> str:
        return route_of(self._jobs[claim.job]).destination

    def _settled(self, claim: Claim, ending: Ending, took_s: float) -> Report:
        job, so_far = self._jobs[claim.job], Round(claim.attempts_before_replay, _waited_s(claim) + took_s)
        budget = self._budgets.get(claim.job)
        if budget is not None and is_first(claim) and not isinstance(ending, NotBegun):
            budget.earn()
        outcome = settle(claim.ticket, job, ending, self._dice(), so_far, budget)
        return Report(claim, outcome, took_s)

    def _is_overdue(self, claim: Claim) -> bool:
        return misses_deadline(self._jobs[claim.job].retry, _waited_s(claim))

    async def _let_wait(self, claims: Sequence[Claim]) -> None:
        """Note in the ledger that sent runs wait for a processor. Notes that the ledger does not take now are
        repeated with the next pass. A run whose note never arrives is sent again too early, under a larger
        fence."""
        untold, self._sent_untold = [*self._sent_untold, *claims], []
        by_wait: defaultdict[float, list[Ticket]] = defaultdict(list)
        for claim in untold:
            by_wait[route_of(self._jobs[claim.job]).start_within_s].append(claim.ticket)
        try:
            for wait_s, tickets in by_wait.items():
                await self._store.ledger.pulse(tickets, wait_s)
        except BaseException:
            self._sent_untold += untold
            raise

    async def _report(self) -> None:
        """Report how attempts ended. Reports that the ledger does not take now are repeated with the next
        pass."""
        async with self._reporting:
            while batch := self._unreported[: self._settings.finish_batch_max]:
                receipts = await self._store.ledger.finish([one.outcome for one in batch])
                del self._unreported[: len(batch)]
                for report, receipt in zip(batch, receipts, strict=True):
                    self._tell(report, receipt)

    def _tell(self, report: Report, receipt: Receipt) -> None:
        claim, outcome = report.claim, report.outcome
        if receipt is Receipt.REFUSED:
            tell_refused(outcome.ticket)
            self.log.run_warning(outcome.ticket, "late report refused", attempt=claim.attempt)
        elif outcome.begun:
            tell_finished(outcome.ticket, claim.job, outcome.state, report.took_s)
            ended_at = claim.started_at + timedelta(seconds=report.took_s)
            traces.reported(claim, self._claim_request.worker, outcome, ended_at)
            if outcome.error is not None:
                self.log.run_warning(outcome.ticket, str(outcome.state), error=outcome.error)


@dataclass(frozen=True, slots=True)
class Report:
    """How an attempt ended, for the ledger."""

    claim: Claim
    outcome: Outcome
    took_s: float


_ANSWERS = {
    Confirmed: Answer.CONFIRMED,
    Refused: Answer.REFUSED,
    Unconfirmed: Answer.UNCONFIRMED,
}


def _waited_s(claim: Claim) -> float:
    if claim.first_started_at is None:
        return 0.0
    return max(since(claim.first_started_at, claim.started_at).total_seconds(), 0.0)


def _is_refused_for_now(answer: Publication) -> bool:
    return isinstance(answer, Refused) and not answer.permanent


def _now_s() -> float:
    return asyncio.get_running_loop().time()
