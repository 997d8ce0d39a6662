"""A processor: carries out runs that reach it as messages, with no store.

It takes messages of its destinations, as many as it may process at once, and calls the functions of an
application. Where a result is expected it replies that the attempt has started, that it goes on, and how it
ended, each as a message to the place that the order names; the ledger's side is `services.replies`. It
acknowledges the message when the broker has the reply, so a processor that dies leaves its message to
another one. A run that must not begin twice is acknowledged before it begins.

A broker delivers a message again if it got no answer for it, for example after a lost connection. An attempt
that runs here already is not begun a second time: its message is answered together with the first one. An
attempt that has ended here is not carried out again: its reply is sent again. The processor keeps the latest
endings for that.

The functions of jobs run on an event loop of their own (`services.job_loop`), so that a function that blocks
its loop does not keep the other runs of the process from showing life. The processor itself ends an attempt
that is over its time and reports it, whatever its function does. While the jobs' loop stands still it takes
no more messages.

The processor does not decide who owns the run: another attempt may have it by now. Then an announcement says
so, and the work is stopped. That is a hint; the ledger refuses a reply that comes too late.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from fencepost.config import Settings
from fencepost.core.messages import (
    DETAIL_LENGTH_MAX,
    ERROR_LENGTH_MAX,
    PROCESSORS,
    Order,
    Outcome,
    ReplyForm,
    control_topic,
    read_order,
    read_stop,
    reply_message,
)
from fencepost.core.retry_after import asked_wait_s
from fencepost.errors import (
    BrokerRefused,
    BrokerUnavailable,
    InvalidPayload,
    PermanentFailure,
    RemoteFailure,
    RetryableFailure,
    RunFailure,
    TimedOut,
)
from fencepost.model.faults import traceback_of, words_of
from fencepost.model.identifiers import Fence, JobName, Namespace, RunKey
from fencepost.model.job import error_names
from fencepost.model.message import Confirmed, Delivery
from fencepost.model.text import cleaned
from fencepost.ports.broker import Broker, Subscription
from fencepost.ports.executor import Job
from fencepost.ports.run import Run
from fencepost.services.broker_link import BrokerLink, BrokerService
from fencepost.services.job_loop import JobLoop
from fencepost.services.work import Endings, Key, Work, key_of
from fencepost.telemetry import traces
from fencepost.telemetry.secrets import mask, mask_any

WAIT_S = 1.0
"""How long one request for messages may take; a stop waits for it."""
DELIVERIES_MAX = 5
"""After this number of deliveries a message is rejected: it may be what kills its processors."""
MOMENT_S = 0.05
STOP_S = 5.0
"""How long work that was told to stop may take."""
REPLY_AGAIN_S = 1.0
PERIODS_OF_LIFE = 4
"""How many heartbeats the broker may be away before an unfinished attempt is given up."""


AnswerTo = Callable[[Sequence[Delivery]], Awaitable[None]]


class Processor(BrokerService):
    """The messages of one destination, and the functions that process them."""

    name = "processor"

    def __init__(
        self,
        destination: str,
        jobs: Mapping[JobName, Job],
        link: BrokerLink,
        settings: Settings,
        who: str,
        job_loop: JobLoop | None = None,
    ) -> None:
        super().__init__(link)
        self._job_loop = job_loop or JobLoop()
        self.destination = destination
        self._jobs = jobs
        self._settings = settings
        self._who = who
        self._subscription: Subscription | None = None
        self._works: dict[Key, Work] = {}
        self._endings = Endings()
        self._tasks: set[asyncio.Task[None]] = set()
        self._unlisten: dict[str, Callable[[], None]] = {}
        self._bug: BaseException | None = None

    @property
    def busy(self) -> int:
        """How many orders are in progress."""
        return len(self._tasks)

    async def run_once(self) -> float:
        """Take as many messages as there is room for, and begin their work."""
        if self._bug is not None:
            raise AssertionError("an order must not raise") from self._bug
        broker = await self.link.ready()
        if self._subscription is None:
            hold_max = self._settings.concurrency
            self._subscription = await broker.subscribe(self.destination, PROCESSORS, hold_max)
        room = self._settings.concurrency - len(self._tasks)
        if room <= 0 or not await self._job_loop.answers(WAIT_S):
            return self._settings.poll_s
        deliveries = await self._subscription.receive(room, WAIT_S)
        self.count_again(deliveries)
        await self._begin_all(broker, self._subscription, deque(deliveries))
        return 0.0

    async def stop(self, grace_s: float, hurry: asyncio.Event) -> None:
        """Let running work finish within the grace, unless it is to hurry. Unfinished work is left to another
        processor."""
        if self._tasks:
            finished = asyncio.create_task(asyncio.wait(self._tasks))
            either: set[asyncio.Task[Any]] = {finished, asyncio.create_task(hurry.wait())}
            await asyncio.wait(either, timeout=grace_s, return_when=asyncio.FIRST_COMPLETED)
            for one in either:
                one.cancel()
        for work in list(self._works.values()):
            work.stop("shutdown")
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=STOP_S)
        for unlisten in self._unlisten.values():
            unlisten()
        if self._subscription is not None:
            with suppress(BrokerUnavailable, BrokerRefused):
                await self._subscription.close()

    async def _begin_all(self, broker: Broker, subscription: Subscription, left: deque[Delivery]) -> None:
        """One after the other. Where the broker goes away meanwhile, the rest is left to other processors."""
        try:
            while left:
                await self._begin(broker, subscription, left[0])
                left.popleft()
        except BaseException:
            await self.leave(subscription, left)
            raise

    async def _begin(self, broker: Broker, subscription: Subscription, delivery: Delivery) -> None:
        try:
            order = read_order(delivery)
            if await self._is_joined(subscription, order, delivery):
                return
            if delivery.delivered > DELIVERIES_MAX:
                raise InvalidPayload(f"message {delivery.id}: delivered {delivery.delivered} times")
        except InvalidPayload as error:
            self.log.warning("a message cannot be done", message=delivery.id, error=str(error))
            await subscription.reject([delivery], str(error))
            return
        await self._listen(broker, order)
        if order.at_most_once:
            await subscription.acknowledge([delivery])
        run = Run(order.claim)
        run.trace_context = order.carried
        work, key = Work(order, delivery, run), key_of(order)
        if key in self._endings:
            work.is_over, work.form = True, self._endings[key]
        self._works[key] = work
        task = asyncio.create_task(self._do(broker, subscription, work))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def _is_joined(self, subscription: Subscription, order: Order, delivery: Delivery) -> bool:
        """Whether the attempt runs here already: then this delivery is answered with it."""
        work = self._works.get(key_of(order))
        if work is None:
            return False
        self.log.run(order.claim, "delivered again while it runs here", delivered=delivery.delivered)
        if order.at_most_once:
            await subscription.acknowledge([delivery])
        else:
            work.deliveries.append(delivery)
        return True

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._bug = task.exception()
        self.wakeup.wake()

    async def _listen(self, broker: Broker, order: Order) -> None:
        """Hear which runs are to stop, of each namespace from which orders come."""
        topic = control_topic(order.claim.namespace)
        if topic not in self._unlisten:
            heed = partial(self._heed, order.claim.namespace)
            self._unlisten[topic] = await broker.listen(topic, heed)

    def _heed(self, namespace: Namespace, body: bytes) -> None:
        form = read_stop(body)
        if form is None:
            return
        work = self._works.get((namespace, RunKey(form.run_key), form.attempt, Fence(form.fence)))
        if work is not None:
            work.stop(form.why)

    async def _do(self, broker: Broker, subscription: Subscription, work: Work) -> None:
        """The whole order: its work, its replies, and the answer to its message."""
        try:
            if not work.is_over:
                await self._work(broker, work)
            answer = await self._answer_to(broker, subscription, work)
        finally:
            del self._works[
                key_of(work.order)
            ]  # From here on the message may be delivered to this process again.
        if work.is_final:
            self._endings.add(key_of(work.order), work.form)
        if not work.order.at_most_once:
            # The broker delivers the message again if it does not hear this.
            with suppress(BrokerUnavailable, BrokerRefused):
                await answer(work.deliveries)

    async def _work(self, broker: Broker, work: Work) -> None:
        claim = work.order.claim
        life = asyncio.create_task(self._show_life(broker, work))
        try:
            work.form = await self._form_of(work)
        finally:
            life.cancel()
            await asyncio.wait({life})
        work.is_over = True
        said = "stopped" if work.form is None else str(work.form.outcome)
        self.log.run(claim, said, attempt=claim.attempt, fence=claim.fence)

    async def _answer_to(self, broker: Broker, subscription: Subscription, work: Work) -> AnswerTo:
        """The answer to the broker for its message. A reply that is expected is sent first."""
        form = work.form
        if form is not None and work.order.reply_to is not None:
            told = await self._reply_surely(broker, work, form)
            return subscription.acknowledge if told else subscription.give_back
        if not work.is_final:
            return subscription.give_back
        if form is None or form.outcome is Outcome.SUCCEEDED:
            return subscription.acknowledge
        return partial(subscription.reject, reason=form.error or "failed")

    async def _form_of(self, work: Work) -> ReplyForm | None:
        """How the work ended; None where nothing is to be replied."""
        order = work.order
        job = self._jobs.get(order.claim.job)
        if job is None:
            known = ", ".join(sorted(self._jobs)) or "none"
            words = f"UnknownJob: this processor has no job {order.claim.job}; it has {known}"
            return self._form(work, Outcome.FAILED, error=words)
        try:
            with traces.within(order.carried):
                work.task = self._job_loop.begin(job.executor.execute(work.run))
                if work.stopped_why is not None:
                    work.task.cancel()
                output = await _within(work.task, order.timeout_s)
        except asyncio.CancelledError as error:
            if work.stopped_why is None:
                if _is_cancelled():
                    raise
                return self._failed(work, error)
            if work.stopped_why == "cancelled":
                return self._form(work, Outcome.FAILED, error="cancelled", permanent=True)
            return None
        except BaseException as error:
            return self._failed(work, error)
        return self._form(work, Outcome.SUCCEEDED, result=output)

    def _failed(self, work: Work, error: BaseException) -> ReplyForm:
        if isinstance(error, RemoteFailure):
            kinds, permanent, detail, words = error.kinds, error.permanent, error.detail, str(error)
        else:
            kinds, permanent = error_names(type(error)), isinstance(error, PermanentFailure)
            detail, words = traceback_of(error) or None, words_of(error)
        wait = error.retry_after if isinstance(error, RetryableFailure | RemoteFailure) else None
        return self._form(
            work,
            Outcome.FAILED,
            error=mask(words)[:ERROR_LENGTH_MAX],
            detail=None if detail is None else mask(detail)[-DETAIL_LENGTH_MAX:],
            kinds=list(kinds),
            permanent=permanent,
            retry_after=asked_wait_s(wait),
            result=error.output if isinstance(error, RunFailure) else None,
        )

    def _form(self, work: Work, outcome: Outcome, **said: Any) -> ReplyForm:
        """A reply whose texts can all be sent as UTF-8."""
        claim = work.order.claim
        said = {name: cleaned(value) if isinstance(value, str) else value for name, value in said.items()}
        return ReplyForm(
            run_key=claim.run_key,
            attempt=claim.attempt,
            fence=claim.fence,
            outcome=outcome,
            processor=self._who,
            **said,
        )

    async def _show_life(self, broker: Broker, work: Work) -> None:
        """Reply that the attempt has started, then that it goes on, with the job's progress. An attempt that
        is over in a moment only replies how it ended: half the messages, and half the ledger's work."""
        if work.order.reply_to is None:
            return
        every_s = work.order.heartbeat_every_s or self._settings.heartbeat_every_s
        outcome = Outcome.STARTED
        await asyncio.sleep(min(MOMENT_S, every_s))
        while True:
            said = work.run.said
            words = {} if said is None else {"progress": mask_any(said.progress), "note": mask_any(said.note)}
            if await self._reply(broker, work, self._form(work, outcome, **words)) and said is not None:
                work.run.was_heard(said)
            outcome = Outcome.HEARTBEAT
            await asyncio.sleep(every_s)

    async def _reply_surely(self, broker: Broker, work: Work, form: ReplyForm) -> bool:
        """Whether the broker has it; tried for as long as the attempt may count as alive."""
        give_up_s = _now_s() + PERIODS_OF_LIFE * self._settings.heartbeat_timeout_s
        while True:
            if await self._reply(broker, work, form):
                return True
            if _now_s() >= give_up_s:
                return False
            await asyncio.sleep(REPLY_AGAIN_S)

    async def _reply(self, broker: Broker, work: Work, form: ReplyForm) -> bool:
        message = reply_message(work.order, form, next(work.replies))
        try:
            (answer,) = await broker.publish([message])
        except (BrokerUnavailable, BrokerRefused) as error:
            self._wait_for_broker(error)
            return False
        if not isinstance(answer, Confirmed):
            self.log.run_warning(work.order.claim, "a reply was not confirmed", why=answer.reason)
        return isinstance(answer, Confirmed)


async def _within(task: asyncio.Future[str | None], timeout_s: float | None) -> str | None:
    """The work's result, within its time. Work that ignores its cancellation is left to itself."""
    done, _ = await asyncio.wait({task}, timeout=timeout_s)
    if done:
        return task.result()
    task.cancel()
    await asyncio.wait({task}, timeout=STOP_S)
    raise TimedOut(f"longer than {timeout_s:g}s")


def _is_cancelled() -> bool:
    """Whether this order was told to stop; user code may raise `CancelledError` of its own accord."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _now_s() -> float:
    return asyncio.get_running_loop().time()
