"""Bugs in who counts as alive, and in what becomes of the runs of those who do not."""

from __future__ import annotations

from dataclasses import replace
from inspect import unwrap
from typing import Any
from unittest.mock import patch

from fencepost.core.liveness import rescue
from fencepost.model.clocks import later
from fencepost.model.rescue import Rescue, Sweep, SweepTerms
from fencepost.model.run import Pulse, RunState
from fencepost.model.tables import RUNS
from fencepost.rules import reports, runs
from fencepost.rules.claims import ClaimRules
from fencepost.rules.part import reads, writes
from fencepost.rules.reports import ReportRules
from fencepost.rules.runs import change
from fencepost.services import reaper
from fencepost.services.active import ActiveRun, StopCause
from fencepost.services.attempt import Attempts
from fencepost.services.heartbeat import Heartbeat, HeartbeatThread
from fencepost.services.reporter import Reporter
from fencepost.services.worker import Worker
from tests.bugs.bug import Planted, all_of, bug
from tests.bugs.misled import Misled, See

HEARTBEAT = "tests/services/test_heartbeat.py"
WORKER = "tests/services/test_worker_faults.py"


@bug(
    "the heart does not beat in the loop of the jobs",
    f"{HEARTBEAT}::test_a_blocked_loop_does_not_stop_the_heart",
)
def heart_in_the_loop_of_the_jobs() -> Planted:
    """A busy job blocks the loop, the heart with it, and is given to another as if its worker had died."""

    async def run(self: Any) -> None:
        await self.serve()

    return patch.object(HeartbeatThread, "run", run)


@bug(
    "a job that hangs does not look alive for ever",
    f"{HEARTBEAT}::test_a_run_that_blocks_the_loop_past_its_timeout_does_not_look_alive_for_ever",
)
def heart_without_a_deadline() -> Planted:
    """A job has blocked its loop for good; the heart in its own thread says that all is well."""
    return patch.object(ActiveRun, "use_beat", lambda self: True)


@bug(
    "who has lost a run says no more of it",
    f"{WORKER}::test_a_run_lost_to_another_attempt_is_stopped_and_not_reported",
)
def lost_run_reported() -> Planted:
    """The ledger says that the run is another's; its worker stops it, and reports it as stopped."""

    def heed(self: Any, one: ActiveRun, pulse: Pulse) -> None:
        if not pulse.owned or pulse.cancel_requested:
            one.stop(StopCause.REQUESTED)

    return patch.object(Heartbeat, "_heed", heed)


@bug(
    "only the owner's heartbeat counts",
    "tests/conformance/test_memory.py::TestMemoryStore::test_a_pulse_does_not_keep_what_is_not_owned",
)
def heartbeat_by_key_alone() -> Planted:
    """A worker that lost a run beats for it on and on, and nobody sees that its successor has died."""
    pulse = unwrap(ReportRules.pulse)

    async def by_key(self: Any, tx: Any, tickets: Any, alive_for_s: float) -> Any:
        with patch.object(runs, "is_owned", lambda run, ticket: run["state"] == RunState.RUNNING):
            return await pulse(self, tx, tickets, alive_for_s)

    return patch.object(ReportRules, "pulse", writes(by_key))


@bug("a run is not taken from the living", "I8")
def living_worker_robbed() -> Planted:
    """The reaper takes every run that has been going for a while, whether or not its worker is alive."""
    silent, rescue = unwrap(ReportRules._look), unwrap(ReportRules.rescue)

    async def going(self: Any, tx: Any, limit: int, now: Any) -> Any:
        return await silent(self, Misled(tx, _as_if_silent_after(5.0)), limit, now)

    async def rob(self: Any, tx: Any, rescues: Any) -> Any:
        return await rescue(self, Misled(tx, _as_if_silent_after(5.0)), rescues)

    planted = {"_look": reads(going), "rescue": writes(rob)}
    return all_of(*(patch.object(ReportRules, name, one) for name, one in planted.items()))


@bug(
    "a rescue looks again",
    "tests/services/test_reaper.py::test_a_run_that_shows_life_at_the_last_moment_is_left_alone",
)
def rescue_by_an_old_look() -> Planted:
    """A worker was silent when the reaper looked, showed life, and loses its run all the same."""
    rescue = unwrap(ReportRules.rescue)

    async def blindly(self: Any, tx: Any, rescues: Any) -> Any:
        return await rescue(self, Misled(tx, _as_if_silent_after(0.0)), rescues)

    return patch.object(ReportRules, "rescue", writes(blindly))


@bug(
    "whoever judges silence first gives everybody a chance to speak",
    "tests/services/test_reaper.py::test_an_absence_of_the_store_does_not_take_runs_from_the_living",
)
def absence_taken_for_silence() -> Planted:
    """The store was away, its owners could not be heard, and the reaper is back first."""
    return patch.object(SweepTerms, "are_broken", lambda self, last, now: False)


@bug("the dead are found by everybody", "I8", seed=1)
def silent_runs_left_to_their_owner() -> Planted:
    """A worker's runs are left to it; who comes after it has another name, and leaves them alone."""

    async def none(self: Any, limit: int, terms: Any) -> Sweep:
        return Sweep()

    return patch.object(ReportRules, "expired", none)


@bug("what may run at most once is not tried again", "I8", hours=1.5)
def at_most_once_tried_again() -> Planted:
    """Nobody knows how far the silent worker came, and the mail is sent once more."""
    return patch.object(reaper, "rescue", lambda run: Rescue(run.ticket, RunState.READY, "rescued: silent"))


@bug(
    "attempts are counted through crashes",
    "tests/services/test_reaper.py::test_attempts_are_counted_through_crashes",
)
def crashes_cost_no_attempt() -> Planted:
    """A job that kills its worker kills every worker, one after the other, for ever."""

    def forgiving(run: Any) -> Rescue:
        return rescue(replace(run, attempts_before_replay=run.ticket.attempt))

    return patch.object(reaper, "rescue", forgiving)


@bug("a rescue counts the attempt that it ends", "I9", seed=1)
def rescue_takes_the_attempt_back() -> Planted:
    """The lost attempt is struck off, and two attempts have the same number."""
    rescue = reports._rescue

    async def uncounted(tx: Any, freed: Any, run: Any, one: Any) -> Any:
        after = await rescue(tx, freed, run, one)
        if after["state"] != RunState.READY:
            return after
        return await change(tx, freed, after, attempt=after["attempt"] - 1)

    return patch.object(reports, "_rescue", uncounted)


@bug(
    "a claim whose answer was lost is adopted",
    f"{WORKER}::test_runs_whose_claim_was_not_answered_are_adopted",
)
def lost_claims_never_adopted() -> Planted:
    """Runs are marked as this worker's, who never heard of them; they wait for their rescue."""

    async def nothing(self: Any) -> None:
        self._answer_lost = False

    return patch.object(Worker, "_adopt", nothing)


@bug("what is adopted was not known", "effects")
def known_runs_adopted_again() -> Planted:
    """After a lost answer a worker takes up what it is doing already, and does it twice."""
    adopt = ClaimRules.adopt

    async def all_of_them(self: Any, worker: Any, known: Any) -> Any:
        return await adopt(self, worker, [])

    return patch.object(ClaimRules, "adopt", all_of_them)


@bug(
    "nothing is done before the ledger has it",
    "tests/services/test_reporter.py::test_outcomes_are_kept_while_the_store_is_away_and_end_the_run_once",
)
def report_dropped_while_the_store_is_away() -> Planted:
    """The work was done, the report was lost, and the work is done again."""
    report = Reporter._report

    async def once(self: Any, batch: Any) -> None:
        try:
            await report(self, batch)
        finally:
            self._waiting.clear()
            self._empty.set()

    return patch.object(Reporter, "_report", once)


@bug("success is reported after the work", "effects")
def success_reported_before_the_work() -> Planted:
    """The worker acknowledges first and works then: whoever is killed in between has lied."""
    ending_of = Attempts._ending_of

    async def hasty(self: Any, active: Any, job: Any) -> Any:
        return await ending_of(self, active, replace(job, executor=_Idle()))

    return patch.object(Attempts, "_ending_of", hasty)


class _Idle:
    """Says that it is done and does nothing."""

    stoppable = True

    def check(self, payload: Any) -> None:
        return None

    async def execute(self, run: Any) -> str | None:
        return None


def _as_if_silent_after(going_s: float) -> See:
    """What begins shows life for so long, whatever its worker has said since."""

    def see(selection: Any, row: Any) -> Any:
        if selection.table is not RUNS or row["state"] != RunState.RUNNING:
            return row
        return {**row, "alive_until": later(row["started_at"], going_s)}

    return see
