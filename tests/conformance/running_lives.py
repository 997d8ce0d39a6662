"""What may happen to the working side of a store: runs, claims, reports, rescues, retention."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import rule

from fencepost.core.verdict import judge
from fencepost.model.claiming import ClaimRequest, End, Judge, ScheduleFacts, Start, Verdict
from fencepost.model.clocks import StoreTime, later
from fencepost.model.enqueueing import Unique
from fencepost.model.identifiers import Fence, JobName, NodeId, Queue, ScheduleId
from fencepost.model.rescue import Expired, Rescue, SweepTerms
from fencepost.model.run import (
    Claim,
    Outcome,
    ProgressReport,
    RunFilter,
    RunRecord,
    RunState,
    Ticket,
)
from fencepost.model.run_log import LogChunk, LogPage
from fencepost.testing.conformance.builders import (
    JOB,
    MANY,
    OTHER_JOB,
    by_hand,
    claim_request,
    death,
    end_all,
    leave_all,
    not_begun,
    retry,
    start_all,
    success,
)
from fencepost.testing.conformance.unique import snooze
from tests.conformance.planning_lives import (
    HEAVY,
    PlanningLives,
    delays,
    nodes,
    picked,
    picks,
    rules,
    schedules,
    sights,
    strides,
)
from tests.conformance.twins import Recording, Twin

claim_requests = st.builds(
    claim_request,
    nodes,
    queues=st.sampled_from(((Queue("default"), HEAVY), (Queue("default"), HEAVY), (HEAVY,))),
    jobs=st.sampled_from(((JOB, OTHER_JOB), (JOB, OTHER_JOB), (JOB,))),
)
limits = st.sampled_from((1, 2, MANY))
TERMS = SweepTerms(gap_max_s=40.0, grace_s=30.0)


def skip_overlaps(facts: ScheduleFacts, now: StoreTime, room: int) -> list[Verdict]:
    """Start the newest where nothing is unfinished; end the rest."""
    *older, newest = facts.due
    ends: list[Verdict] = [End(one.run_key, RunState.SKIPPED, "overlap") for one in older]
    return ends if facts.unfinished or room < 1 else [*ends, Start(newest.run_key)]


judges = st.sampled_from((start_all, skip_overlaps, leave_all, end_all, judge, judge, judge))


def said(ticket: Ticket, pick: int) -> ProgressReport:
    """What a job says of how far it has come: both, one of them, or neither."""
    return ProgressReport(ticket, f"at {pick}" if pick % 2 else None, f"note {pick}" if pick % 3 else None)


def page(ticket: Ticket, pick: int) -> LogPage:
    """Some lines of an attempt; those before a few of them give way."""
    number = pick % 5 + 1
    chunk = LogChunk(number, number * 10, 10, f"line {pick}")
    return LogPage(ticket, (chunk,), kept_through=1, kept_from=number)


def outcome_of(kind: str, ticket: Ticket) -> Outcome:
    """How an attempt of that kind reports."""
    match kind:
        case "success":
            return success(ticket)
        case "output":
            return success(ticket, output="42 rows")
        case "retry":
            return retry(ticket, detail="Traceback")
        case "retry later":
            return retry(ticket, in_s=20, reason="attempt failed")
        case "not begun":
            return not_begun(ticket)
        case "snoozed":
            return snooze(ticket, 20)
        case "cancelled":
            return Outcome(ticket, RunState.CANCELLED, reason="asked to stop")
    return death(ticket, reason="retries exhausted", detail="Traceback")


kinds = st.sampled_from(
    ("success", "output", "retry", "retry later", "not begun", "snoozed", "cancelled", "death")
)


class RunningLives(PlanningLives):
    """Rules about work, on top of those about intent."""

    @rule(
        key=st.sampled_from("abcdef"),
        job=st.sampled_from((JOB, JOB, OTHER_JOB)),
        priority=st.integers(1, 4),
        after_s=st.sampled_from((None, None, -5, 15)),
    )
    def enqueue(self, key: str, job: JobName, priority: int, after_s: float | None) -> None:
        run_at = None if after_s is None else later(self.twins.now, after_s)
        run = by_hand(key, job=job, priority=priority, run_at=run_at, payload={"key": key})
        self.twins.play(lambda one: one.store.ledger.enqueue(self.ns, [run]))

    @rule(
        keys=st.lists(st.sampled_from("abcdef"), min_size=1, max_size=3),
        by=st.sampled_from(("queued", "unfinished", "15s")),
        expires_s=st.sampled_from((None, 20)),
    )
    def enqueue_unique(self, keys: list[str], by: str, expires_s: float | None) -> None:
        """Each is due at an instant of its own."""
        expires = None if expires_s is None else timedelta(seconds=expires_s)
        names = [(f"u{key}", key) for key in keys] + [(f"v{key}", "bdf"[key in "bdf"]) for key in keys]
        runs = [
            replace(
                by_hand(key),
                run_at=timedelta(milliseconds=number),
                expires=expires,
                unique=Unique(by, name),
            )
            for number, (key, name) in enumerate(names, 1)
        ]
        self.twins.play(lambda one: one.store.ledger.enqueue_unique(self.ns, runs))

    @rule(key=st.sampled_from("abc"), after_s=st.sampled_from((0, 15)), expires_s=st.sampled_from((5, 30)))
    def enqueue_expiring(self, key: str, after_s: float, expires_s: float) -> None:
        due, until = timedelta(seconds=after_s), timedelta(seconds=expires_s)
        run = replace(by_hand(f"x{key}", payload={"key": key}), run_at=due, expires=until)
        self.twins.play(lambda one: one.store.ledger.enqueue(self.ns, [run]))

    @rule(schedule_id=schedules)
    def trigger(self, schedule_id: ScheduleId) -> None:
        fire_time = self.twins.now
        self.twins.play(lambda one: one.store.ledger.trigger(self.ns, schedule_id, fire_time))

    @rule(wanted=claim_requests, limit=limits)
    def claim_direct(self, wanted: ClaimRequest, limit: int) -> None:
        wanted = replace(wanted, namespace=self.ns)
        self.twins.play(lambda one: one.store.ledger.outlook(wanted))
        self.take(self.twins.play(lambda one: one.store.ledger.claim_direct(wanted, limit)))

    @rule(wanted=claim_requests, limit=limits, judge=judges)
    def claim_ticks(self, wanted: ClaimRequest, limit: int, judge: Judge) -> None:
        wanted = replace(wanted, namespace=self.ns)

        async def play(twin: Twin) -> tuple[list[Claim], list[object]]:
            recording = Recording(judge)
            claims = await twin.store.ledger.claim_ticks(wanted, limit, recording)
            return list(claims), recording.asked

        self.take(self.twins.play(play)[0])

    @rule(
        steps=strides,
        delay_s=delays,
        tzdata=rules,
        other=rules,
        seen=sights,
        wanted=claim_requests,
        judge=judges,
        kinds=st.lists(kinds, max_size=3),
    )
    def work(
        self,
        steps: list[int],
        delay_s: int,
        tzdata: str,
        other: str,
        seen: str,
        wanted: ClaimRequest,
        judge: Judge,
        kinds: list[str],
    ) -> None:
        """An ordinary minute: plan, wait, claim, report on some of it, and hear of other rules."""
        self.plan(steps, delay_s, tzdata, False)
        self.twins.advance(31)
        self.claim_ticks(wanted, MANY, judge)
        self.claim_direct(wanted, MANY)
        for kind, ticket in zip(kinds, self.tickets[::-1], strict=False):
            self.report(outcome_of(kind, ticket))
        self.confirm(other, 30, seen)

    @rule(judge=judges, older_than_s=st.sampled_from((0, 20)))
    def sweep_late(self, judge: Judge, older_than_s: float) -> None:
        async def play(twin: Twin) -> tuple[int, list[object]]:
            recording = Recording(judge)
            count = await twin.store.ledger.sweep_late(older_than_s, MANY, recording)
            return count, sorted(recording.asked, key=str)

        self.twins.play(play)

    @rule(worker=nodes, forgetful=st.booleans())
    def adopt(self, worker: NodeId, forgetful: bool) -> None:
        known = [] if forgetful else [ticket.fence for ticket in self.tickets]

        async def play(twin: Twin) -> list[Claim]:
            claims = await twin.store.ledger.adopt(worker, [*map(twin.own_fence, known)])
            return sorted(claims, key=lambda claim: claim.fence)

        self.twins.play(play)

    @rule(count=st.integers(1, 4), pick=picks)
    def show_life(self, count: int, pick: int) -> None:
        tickets = self.tickets[-count:]
        self.twins.play(lambda one: one.store.ledger.pulse([*map(one.own, tickets)], 30.0))
        ticket = picked(tickets, pick)
        if ticket is not None:
            self.twins.play(lambda one: one.store.ledger.report_progress([said(one.own(ticket), pick)]))
            self.twins.play(lambda one: one.store.run_logs.append([page(one.own(ticket), pick)]))
            self.twins.play(lambda one: one.store.steps.record(one.own(ticket), f"step {pick}", f"{count}"))
            self.twins.play(lambda one: one.store.steps.recorded(self.ns, ticket.run_key))
            self.twins.play(lambda one: one.store.run_logs.read(self.ns, ticket.run_key, limit=MANY))

    @rule(pick=picks, kind=kinds, again=st.booleans())
    def finish(self, pick: int, kind: str, again: bool) -> None:
        ticket = picked(self.tickets, pick)
        if ticket is not None:
            self.report(outcome_of(kind, ticket))
            if again:
                self.report(outcome_of(kind, ticket))

    @rule(kinds=st.lists(st.sampled_from(("success", "output", "death")), min_size=2, max_size=4))
    def finish_many(self, kinds: list[str]) -> None:
        outcomes = [outcome_of(kind, ticket) for kind, ticket in zip(kinds, self.tickets[::-1], strict=False)]
        self.report(*outcomes)

    @rule(pick=picks, fence_step=st.integers(-1, 1), attempt_step=st.integers(-1, 1))
    def finish_falsely(self, pick: int, fence_step: int, attempt_step: int) -> None:
        ticket = picked(self.tickets, pick)
        if ticket is not None:
            fence, attempt = Fence(ticket.fence + fence_step), ticket.attempt + attempt_step
            self.report(success(replace(ticket, fence=fence, attempt=attempt)))

    @rule(state=st.sampled_from((RunState.READY, RunState.DEAD, RunState.CANCELLED)))
    def rescue_the_silent(self, state: RunState) -> None:
        async def play(twin: Twin) -> list[Expired]:
            found = await twin.store.ledger.expired(MANY, TERMS)
            return sorted(found.expired, key=lambda one: one.ticket.run_key)

        self.twins.advance(16)
        for count, expired in enumerate(self.twins.play(play)):
            self.rescue(Rescue(expired.ticket, state, "no sign of life", 3.0 * count))

    @rule(pick=picks)
    def rescue_anyhow(self, pick: int) -> None:
        ticket = picked(self.tickets, pick)
        if ticket is not None:
            self.rescue(Rescue(ticket, RunState.READY, "no sign of life"))

    @rule(pick=st.integers(0, 1_000))
    def cancel(self, pick: int) -> None:
        runs = self.runs()
        if runs:
            key = runs[pick % len(runs)].run_key
            self.twins.play(lambda one: one.store.ledger.cancel(self.ns, key, "never mind"))

    @rule(older_than_s=st.sampled_from((0, 30)))
    def forget(self, older_than_s: float) -> None:
        """All of it: which of two that ended at the same instant goes first is left open."""
        self.twins.play(lambda one: one.store.ledger.forget(older_than_s, 1_000))

    @rule(
        job=st.sampled_from((None, JOB)),
        state=st.sampled_from((None, *RunState)),
        since_s=st.sampled_from((None, -30)),
        until_s=st.sampled_from((None, 0)),
    )
    def list_some(
        self, job: JobName | None, state: RunState | None, since_s: int | None, until_s: int | None
    ) -> None:
        since = None if since_s is None else later(self.twins.now, since_s)
        until = None if until_s is None else later(self.twins.now, until_s)
        wanted = RunFilter(None, job, state, since, until, MANY)
        self.twins.play(lambda one: one.store.ledger.list(self.ns, wanted))

    def report(self, *outcomes: Outcome) -> None:
        self.twins.play(
            lambda one: one.store.ledger.finish(
                [replace(each, ticket=one.own(each.ticket)) for each in outcomes]
            )
        )

    def rescue(self, rescue: Rescue) -> None:
        self.twins.play(lambda one: one.store.ledger.rescue([replace(rescue, ticket=one.own(rescue.ticket))]))

    def take(self, claims: Sequence[Claim]) -> None:
        self.tickets += [claim.ticket for claim in claims]

    def runs(self) -> list[RunRecord]:
        """All runs, by key."""

        async def play(twin: Twin) -> list[RunRecord]:
            runs = await twin.store.ledger.list(self.ns, RunFilter(limit=1_000))
            return sorted(runs, key=lambda run: run.run_key)

        return self.twins.play(play)
