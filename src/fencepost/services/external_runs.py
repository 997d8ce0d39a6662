"""Runs for workers outside of this program, which may be written in any language.

Such a worker has what an attempt of the program has, a run under a fence, and nothing else: it is on no
list of nodes, and only its heartbeats say that it lives. Every verb is one that the ledger has already, and
is safe to repeat after an answer that was lost:

- A claim whose answer was lost is *adopted*. The worker names the fences that it was given. What runs in its
  name under any other fence it gets before anything new, unless that run may have been begun
  (`core.external_runs.is_given_again`). A name belongs to one start of one worker.
- A report whose answer was lost is repeated, and the ledger says so.
- A heartbeat can be repeated at will. None is accepted beyond the job's timeout (`core.external_runs`).

Only jobs that are declared external can be had here. Only runs that were had here can be reported on, with
the credential that claimed them, or with one that a rotation put in its place. Fences are no secret, a viewer
reads them. A report with another credential is refused, and the audit log has it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches

from fencepost.config import Settings
from fencepost.core.external_runs import alive_for_s, first_end, is_given_again, settle_report
from fencepost.core.outcome import Failed, Overdue, Round, Succeeded, settle
from fencepost.core.retry import misses_deadline
from fencepost.errors import NotAllowed, RunLost, UnknownJob
from fencepost.model.access import is_token_id
from fencepost.model.audit import Action, Author
from fencepost.model.claiming import ClaimRequest
from fencepost.model.clocks import StoreTime, since
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Fence, JobName, NodeId, Queue, RunKey, claimed_with, is_outside
from fencepost.model.job import JobSpec
from fencepost.model.json import JsonObject
from fencepost.model.run import Claim, ProgressReport, Receipt, RunRecord, RunState, Ticket
from fencepost.ports.run import progress_text
from fencepost.ports.store import Store
from fencepost.services.chains import with_predecessors
from fencepost.services.job_cache import JobCache
from fencepost.services.lookups import known_run
from fencepost.services.taking import take
from fencepost.services.telling import tell_finished, tell_refused
from fencepost.telemetry import traces
from fencepost.telemetry.logs import Log

NOTED_MAX = 1_000
ROTATIONS_MAX = 20
"""How many times a token may be rotated while a run is in progress."""


@dataclass(frozen=True)
class Order:
    """What a worker asks for (`model.identifiers.outside_worker`). Without queues it is served from those of
    its jobs."""

    worker: NodeId
    jobs: tuple[str, ...]
    queues: tuple[str, ...] = ()
    limit: int = 1
    known: tuple[int, ...] = ()


@dataclass(frozen=True)
class Loan:
    """A run in a worker's hands: until when without a heartbeat, and for how long in all."""

    claim: Claim
    alive_for_s: float
    timeout_s: float | None


@dataclass(frozen=True)
class HeartbeatReceipt:
    """The answer to a heartbeat."""

    cancel_requested: bool
    alive_for_s: float


class ExternalRuns:
    """The external jobs of one namespace."""

    def __init__(self, store: Store, settings: Settings, dice: Callable[[], float]) -> None:
        self._store = store
        self.namespace = settings.namespace
        self._settings = settings
        self._dice = dice
        self._book = JobCache(store, settings.namespace)
        self._log = Log("work")
        self._turns: Counter[Queue] = Counter()
        self._noted: set[tuple[str | None, RunKey, Fence]] = set()
        """Refused reports that the audit log has: a worker that repeats itself does not fill it."""

    async def claim_request(self, order: Order) -> ClaimRequest:
        """What the order comes to; a job that cannot be had is refused, because to wait for it is in vain."""
        specs = [await self._external(job) for job in order.jobs]
        queues = order.queues or tuple(sorted({spec.queue for spec in specs}))
        return ClaimRequest(
            worker=order.worker,
            queues=tuple(Queue(one) for one in queues),
            jobs=tuple(spec.name for spec in specs),
            alive_for_s=self._settings.heartbeat_timeout_s,
            namespace=self.namespace,
        )

    async def adopt(self, order: Order) -> Sequence[Loan]:
        """Runs that are in the worker's name without its knowledge, as many as it asks for. Each lives from
        now on."""
        known = [Fence(one) for one in order.known]
        found = await self._chained(await self._store.ledger.adopt(order.worker, known))
        loans: list[Loan] = []
        for claim in found:
            loan = await self._again(claim) if claim.namespace == self.namespace else None
            if loan is not None and await self._is_pulsed(loan):
                loans.append(loan)
            if len(loans) == order.limit:
                break
        return loans

    async def take(self, order: Order, claim_request: ClaimRequest) -> tuple[Sequence[Loan], float]:
        """New runs, and after how long it is worth to look again where there are none."""
        claims, rest_s = await take(
            self._store.ledger, claim_request, order.limit, self._settings, self._turns
        )
        traces.lent(claims, claim_request.worker)
        for claim in claims:
            await self._count(claim)
        return await self._lent(await self._chained(await self._in_time(claims))) if claims else [], rest_s

    async def heartbeat(
        self,
        by: Author,
        run_key: str,
        attempt: int,
        fence: int,
        progress: float | None = None,
        note: str | None = None,
    ) -> HeartbeatReceipt:
        """Count the attempt as alive for a while more; RunLost where it is not the run's any more."""
        run, ticket = await self._owned(by, run_key, attempt, fence)
        now = await self._store.now()
        assert run.started_at is not None, "a running run has been started"
        got_on = progress is not None or note is not None
        end = first_end(await self._spec(run.job), run.started_at, now if got_on else run.progress_at)
        alive_s = alive_for_s(end, now, self._settings.heartbeat_timeout_s)
        if alive_s is None:
            assert end is not None, "only an end ends"
            raise RunLost(f"run {run_key}: attempt {attempt} {end.why}")
        (pulse,) = await self._store.ledger.pulse([ticket], alive_s)
        if not pulse.owned:
            raise RunLost(f"run {run_key}: attempt {attempt} does not own it any more")
        if got_on:
            await self._store.ledger.report_progress([ProgressReport(ticket, progress_text(progress), note)])
        return HeartbeatReceipt(pulse.cancel_requested, alive_s)

    async def complete(
        self, by: Author, run_key: str, attempt: int, fence: int, result: str | None
    ) -> Receipt:
        """The work is done; RunLost where that came too late."""
        return await self._report(by, run_key, attempt, fence, Succeeded(result))

    async def fail(self, by: Author, run_key: str, attempt: int, fence: int, failed: Failed) -> Receipt:
        """The work failed, or was stopped on request; RunLost where that came too late."""
        return await self._report(by, run_key, attempt, fence, failed)

    async def _report(
        self, by: Author, run_key: str, attempt: int, fence: int, ending: Succeeded | Failed
    ) -> Receipt:
        run, ticket = await self._shown(by, run_key, attempt, fence)
        spec = await self._spec(run.job)
        now = await self._store.now()
        budget = self._book.budget(spec) if _owns(run, attempt, fence) else None
        outcome = settle_report(run, ticket, spec, ending, now, self._dice(), budget)
        (receipt,) = await self._store.ledger.finish([outcome])
        if receipt is Receipt.REFUSED:
            raise self._lost(run, attempt, fence, "report")
        if receipt is Receipt.ACCEPTED:
            tell_finished(ticket, run.job, outcome.state, _took_s(run, now))
            traces.reported(run, run.worker, outcome, now)
        self._log.run(run, str(outcome.state), attempt=attempt, fence=fence, receipt=str(receipt))
        return receipt

    async def _shown(self, by: Author, run_key: str, attempt: int, fence: int) -> tuple[RunRecord, Ticket]:
        """The run, which must not be one of a worker of this program, nor claimed with another credential. A
        fence that was not given out yet is refused here: a claim could give it out before
        the ledger looks."""
        found = await self._store.ledger.get(self.namespace, RunKey(run_key))
        run = known_run(run_key, found)
        if run.worker is not None and not is_outside(run.worker):
            raise RunLost(f"run {run_key}: is not in the hands of a worker outside")
        if fence > run.fence:
            raise self._lost(run, attempt, fence, "report")
        if fence == run.fence:
            await self._check_claimant(run, by)
        return run, Ticket(self.namespace, run.run_key, attempt, Fence(fence))

    async def _check_claimant(self, run: RunRecord, by: Author) -> None:
        """Refuse a report with another credential than the claim's."""
        claimant = None if run.worker is None else claimed_with(run.worker)
        if claimant in (None, by.credential) or await self._succeeds(by.credential, claimant):
            return
        if len(self._noted) >= NOTED_MAX:
            self._noted.clear()
        seen = by.credential, run.run_key, run.fence
        if seen not in self._noted:
            self._noted.add(seen)
            about: JsonObject = {"attempt": run.attempt, "fence": run.fence, "claimed_with": claimant}
            action = Action.RUN_REPORT_REFUSED
            await self._store.audit_log.record(self.namespace, by, action, run.run_key, about)
        told = "was claimed with another credential, and only that one reports on it"
        raise NotAllowed(f"run {run.run_key}: attempt {run.attempt} {told}; to end it, cancel the run")

    async def _succeeds(self, credential: str | None, claimant: str | None) -> bool:
        """Whether rotations put the one credential in the place of the other."""
        for _ in range(ROTATIONS_MAX):
            if not is_token_id(credential) or credential == claimant:
                break
            found = await self._store.access.find_token(credential)
            credential = None if found is None else found.record.rotated_from
        return credential == claimant

    async def _owned(self, by: Author, run_key: str, attempt: int, fence: int) -> tuple[RunRecord, Ticket]:
        run, ticket = await self._shown(by, run_key, attempt, fence)
        if not _owns(run, attempt, fence):
            raise self._lost(run, attempt, fence, "heartbeat")
        return run, ticket

    async def _external(self, job: str) -> JobSpec:
        spec = await self._book.spec(job)
        if spec is None or not spec.external:
            raise UnknownJob(_refusal(job, await self._book.refresh()))
        return spec

    async def _spec(self, job: JobName) -> JobSpec:
        """A job that is registered no more is treated as one of which nothing was said."""
        return await self._book.spec(job) or JobSpec(job)

    async def _count(self, claim: Claim) -> None:
        """A first attempt earns its job some budget for retries."""
        budget = self._book.budget(await self._spec(claim.job))
        if budget is not None and claim.attempt - claim.attempts_before_replay == 1:
            budget.earn()

    async def _chained(self, claims: Sequence[Claim]) -> Sequence[Claim]:
        """With what they followed. Where the store is lost meanwhile, the worker's next order adopts them."""
        mine = [one.job for one in claims if one.namespace == self.namespace]
        following = {job for job in mine if (await self._spec(job)).after}
        return await with_predecessors(self._store.ledger, claims, following)

    async def _in_time(self, claims: Sequence[Claim]) -> Sequence[Claim]:
        """Those that were not granted past their retry deadline; the others end here."""
        kept = []
        for claim in claims:
            spec, waited_s = await self._spec(claim.job), _waited_s(claim)
            if misses_deadline(spec.retry, waited_s):
                outcome = settle(
                    claim.ticket, spec, Overdue(), 0.0, Round(claim.attempts_before_replay, waited_s)
                )
                (receipt,) = await self._store.ledger.finish([outcome])
                if receipt is Receipt.ACCEPTED:
                    tell_finished(claim.ticket, claim.job, outcome.state, None)
                    traces.reported(claim, None, outcome, claim.started_at)
            else:
                kept.append(claim)
        return kept

    async def _again(self, claim: Claim) -> Loan | None:
        """A claim that the worker may not know of, with its terms; None where it is not to be had again."""
        run = await self._store.ledger.get(self.namespace, claim.run_key)
        spec, now = await self._spec(claim.job), await self._store.now()
        first_s = self._settings.heartbeat_timeout_s
        if run is None or not is_given_again(run, claim.ticket, spec, now, first_s):
            return None
        return self._loan(claim, spec, now, run.progress_at)

    async def _lent(self, claims: Sequence[Claim]) -> Sequence[Loan]:
        """New claims with their terms. A life that is shorter than a heartbeat's is written; what is lost
        meanwhile is left out."""
        now = await self._store.now()
        loans = []
        for claim in claims:
            loan = self._loan(claim, await self._spec(claim.job), now, None)
            if loan is not None and (self._is_whole(loan) or await self._is_pulsed(loan)):
                loans.append(loan)
        return loans

    def _loan(
        self, claim: Claim, spec: JobSpec, now: StoreTime, progress_at: StoreTime | None
    ) -> Loan | None:
        end = first_end(spec, claim.started_at, progress_at)
        alive_s = alive_for_s(end, now, self._settings.heartbeat_timeout_s)
        timeout_s = None if spec.timeout is None else spec.timeout.total_seconds()
        return None if alive_s is None else Loan(claim, alive_s, timeout_s)

    def _is_whole(self, loan: Loan) -> bool:
        return loan.alive_for_s >= self._settings.heartbeat_timeout_s

    async def _is_pulsed(self, loan: Loan) -> bool:
        (pulse,) = await self._store.ledger.pulse([loan.claim.ticket], loan.alive_for_s)
        return pulse.owned

    def _lost(self, run: RunRecord, attempt: int, fence: int, what: str) -> RunLost:
        """Whose the run is now is for the log: with its attempt and fence a straggler could write."""
        now = {"state": str(run.state), "now_attempt": run.attempt, "now_fence": run.fence}
        self._log.run_warning(run, f"late {what} refused", attempt=attempt, fence=fence, **now)
        tell_refused(Ticket(run.namespace, run.run_key, attempt, Fence(fence)))
        told = f"attempt {attempt} with fence {fence} does not own it; it is {run.state}"
        return RunLost(f"run {run.run_key}: {told}")


def _waited_s(claim: Claim) -> float:
    if claim.first_started_at is None:
        return 0.0
    return max(since(claim.first_started_at, claim.started_at).total_seconds(), 0.0)


def _took_s(run: RunRecord, now: StoreTime) -> float | None:
    """By the store's clock: the worker's own is not asked."""
    return None if run.started_at is None else max(since(run.started_at, now).total_seconds(), 0.0)


def _owns(run: RunRecord, attempt: int, fence: int) -> bool:
    return run.state is RunState.RUNNING and (run.attempt, run.fence) == (attempt, fence)


def _refusal(job: str, known: Mapping[JobName, JobSpec]) -> str:
    if job in known:
        return f"job {job}: is not external: workers of the program do it"
    external = sorted(name for name, spec in known.items() if spec.external)
    near = get_close_matches(job, external, n=1)
    hint = f"did you mean {near[0]}?" if near else f"external jobs: {', '.join(external) or 'none'}"
    return f"job {job}: not registered in this store; {hint}"
