"""What an explanation says of one run: where it comes from, when it was due, who tried it, how it stands.

Every origin, state and hold has its sentence; `match` makes a new one that has none a type error.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import assert_never

from fencepost.core import remedies
from fencepost.core.catchup import TOO_LATE
from fencepost.core.evidence import Evidence, by_whom
from fencepost.core.lifecycle import ENDED
from fencepost.core.stuck import first_due, shown_span, why_uncertain
from fencepost.model.audit import Action, Entry
from fencepost.model.chain import Chain, is_successor
from fencepost.model.clocks import since
from fencepost.model.freeze import Freeze, Scope, ScopeKind
from fencepost.model.identifiers import RunKey
from fencepost.model.run import SNOOZED, Hold, Origin, RunRecord, RunState
from fencepost.model.times import to_utc_text

HOLDS = tuple(one for one in Hold if one)
ATTEMPTS_TOLD_MAX = 20
EDITS = frozenset({Action.SCHEDULE_PUT, Action.SCHEDULE_PAUSE, Action.SCHEDULE_REMOVE})
WRITES = frozenset({Action.RUN_RESTORE, Action.RUN_HOLD, Action.RUN_SKIP})
SAME_MOMENT = timedelta(seconds=5)
"""An edit and what it withdraws are one transaction, but may have read the clock more than once."""


def run_words(run: RunRecord, evidence: Evidence) -> tuple[str, ...]:
    """From its origin to its state."""
    return (
        origin_words(run, evidence),
        *_due_words(run, evidence),
        *_attempt_words(run, evidence),
        state_words(run, evidence),
        *_then_words(run, evidence),
    )


def withdrawn_words(run: RunRecord, evidence: Evidence) -> tuple[str, ...]:
    """A run that was planned and taken back, and by which change of its schedule."""
    return origin_words(run, evidence), state_words(run, evidence), *_edit_words(run, evidence)


def origin_words(run: RunRecord, evidence: Evidence) -> str:
    """Who wrote it, and why."""
    match run.origin:
        case Origin.LIVE:
            return _live_words(run, evidence)
        case Origin.MANUAL:
            return _manual_words(run, evidence)
        case Origin.CATCH_UP:
            late = "It came late, within max_lateness, and was admitted to catch-up."
            return f"{_written_words(run, evidence)} {late}"
        case Origin.BACKFILL:
            return f"Backfill {run.backfill_id} had it run after the fact, under version {run.version}."
        case Origin.REPLAY:
            who = _who(run, evidence, Action.RUN_REPLAY)
            return f"It had ended, and was replayed{who}."
        case _ as never:
            assert_never(never)


def state_words(run: RunRecord, evidence: Evidence) -> str:
    """How it stands."""
    because = f": {run.reason}" if run.reason else ""
    at = "" if run.finished_at is None else f" at {to_utc_text(run.finished_at)}"
    match run.state:
        case RunState.PLANNED:
            return f"Its time has not come: it may start in {shown_span(run.run_at - evidence.now)}."
        case RunState.READY:
            return _ready_words(run, evidence)
        case RunState.RUNNING:
            return _running_words(run, evidence)
        case RunState.SUCCEEDED:
            took = "" if run.started_at is None else f", {_took(run)} after it began"
            return f"It succeeded{at} with attempt {run.attempt} under fence {run.fence}{took}."
        case RunState.DEAD:
            failed = f": {run.error or run.reason}" if run.error or run.reason else ""
            tried = _attempts(run.attempt - run.attempts_before_replay)
            return f"It failed for good{at}, after {tried}{failed}."
        case RunState.SKIPPED:
            met = f" It met {run.blocked_by}, which was unfinished." if run.blocked_by is not None else ""
            return f"It was skipped{at}{_who(run, evidence, Action.RUN_SKIP)}{because}.{met}"
        case RunState.MISSED:
            return f"It was missed{at}{because}."
        case RunState.CANCELLED:
            return f"It was cancelled{at}{_who(run, evidence, Action.RUN_CANCEL)}{because}."
        case RunState.WITHDRAWN:
            return f"The tick of version {run.version} was withdrawn{at} before its time came{because}."
        case _ as never:
            assert_never(never)


def is_held(run: RunRecord, evidence: Evidence) -> bool:
    """Whether it waits and may not start."""
    waits = run.state in (RunState.PLANNED, RunState.READY)
    return waits and (bool(run.held) or bool(_stops(run, evidence)))


def hold_words(run: RunRecord, evidence: Evidence) -> tuple[str, ...]:
    """Everything that keeps it from starting."""
    if not is_held(run, evidence):
        return ()
    words = [_one_hold(one, run, evidence) for one in HOLDS if run.held & one]
    return *words, *(_freeze_words(one) for one in _stops(run, evidence))


def run_remedies(run: RunRecord, evidence: Evidence) -> tuple[str, ...]:
    """What would change how it stands."""
    if is_held(run, evidence):
        return _hold_remedies(run, evidence)
    match run.state:
        case RunState.PLANNED:
            return (remedies.call_off(run.run_key),)
        case RunState.READY if run.run_at > evidence.now:
            return (remedies.cancel(run.run_key),)
        case RunState.READY:
            return remedies.work(), remedies.cancel(run.run_key)
        case RunState.RUNNING:
            silent = why_uncertain(run, evidence.workers, evidence.now) is not None
            return (remedies.rescue(),) if silent else (remedies.cancel(run.run_key),)
        case RunState.SKIPPED if run.blocked_by is not None:
            return remedies.replay(run.run_key), remedies.buffer(run.schedule_id)
        case RunState.MISSED if (run.reason or "").startswith(TOO_LATE):
            return remedies.replay(run.run_key), remedies.catch_up(run.schedule_id)
        case RunState.SUCCEEDED | RunState.DEAD | RunState.SKIPPED | RunState.MISSED | RunState.CANCELLED:
            return (remedies.replay(run.run_key),)
        case RunState.WITHDRAWN:
            return (remedies.backfill(run.schedule_id, run.fire_time),)
        case _ as never:
            assert_never(never)


def _live_words(run: RunRecord, evidence: Evidence) -> str:
    if run.schedule_id is None and is_successor(run.run_key):
        return _after_words(run, evidence)
    if run.schedule_id is None:
        return f"It was enqueued by hand{_who(run, evidence, Action.RUN_ENQUEUE)}."
    return _written_words(run, evidence)


def _after_words(run: RunRecord, evidence: Evidence) -> str:
    after = _chain(run, evidence).after
    if not after:
        return "It was enqueued when other runs had ended, which retention has removed since."
    shown = " and ".join(f"{one.key}, which {_ended_as(one.state)}" for one in after)
    return f"It follows {shown}."


def _then_words(run: RunRecord, evidence: Evidence) -> tuple[str, ...]:
    """What came of its end."""
    return tuple(
        f"{one.key} was enqueued after it, and is {one.state}."
        if one.state is not None
        else f"{one.key} is not enqueued: the runs that it joins have not all ended so that it fits."
        for one in _chain(run, evidence).then
    )


def _chain(run: RunRecord, evidence: Evidence) -> Chain:
    return evidence.chains.get(run.run_key, Chain())


def _ended_as(state: RunState) -> str:
    return {RunState.SUCCEEDED: "succeeded", RunState.DEAD: "failed for good"}.get(state, f"was {state}")


def _manual_words(run: RunRecord, evidence: Evidence) -> str:
    """An extra tick, or one that an operator held when its schedule was edited."""
    if not run.epoch and _writing(run, evidence) is None:
        return f"It is an extra tick that was asked for{_who(run, evidence, Action.SCHEDULE_TRIGGER)}."
    spared = "It was held when its schedule was edited, and stayed as a tick by hand."
    return f"{_written_words(run, evidence)} {spared}"


def _written_words(run: RunRecord, evidence: Evidence) -> str:
    """Who wrote a tick. With epoch 0 no leader wrote it: an operator's command did, by name."""
    if run.epoch:
        return f"Version {run.version} asked for it, and the leader of epoch {run.epoch} planned it."
    entry = _writing(run, evidence)
    under = f"under version {run.version}"
    if entry is None:
        return f"It was written by name and not by a planner, {under}."
    who = by_whom([entry])
    if entry.action is Action.RUN_RESTORE:
        return f"It was missing, and was written by name{who}, {under}."
    done = "held" if entry.action is Action.RUN_HOLD else "called off"
    return f"No planner had come to it yet when it was {done} by name{who}, {under}."


def _writing(run: RunRecord, evidence: Evidence) -> Entry | None:
    """The entry of the command that wrote a tick by name: the ledger had no such run before it."""
    return next(
        (
            one
            for one in evidence.entries
            if one.subject == run.run_key and one.action in WRITES and not one.before
        ),
        None,
    )


def _due_words(run: RunRecord, evidence: Evidence) -> tuple[str, ...]:
    moment = first_due(run)
    if moment is None:
        return ()
    due = f"It {'is' if moment > evidence.now else 'was'} due at {to_utc_text(moment)}"
    later = moment - run.fire_time
    if later.total_seconds() <= 0 or run.schedule_id is None:
        return (f"{due}.",)
    return (f"{due}, {shown_span(later)} after its fire time.",)


def _attempt_words(run: RunRecord, evidence: Evidence) -> tuple[str, ...]:
    """The attempts that the ledger keeps, without the one that the state describes."""
    kept = evidence.attempts.get(run.run_key, ())
    told = [one for one in kept if run.state not in ENDED or one.attempt < run.attempt]
    left_out = len(told) - ATTEMPTS_TOLD_MAX
    words = [f"There were {left_out} attempts before the last {ATTEMPTS_TOLD_MAX}."] if left_out > 0 else []
    for one in told[-ATTEMPTS_TOLD_MAX:]:
        error = f": {one.error}" if one.error else ""
        if one.outcome == SNOOZED:
            error = f", which spent no attempt{error}"
        words.append(
            f"Attempt {one.attempt} of {one.worker} under fence {one.fence} {_ended(one.outcome)} "
            f"at {to_utc_text(one.finished_at)}{error}."
        )
    return tuple(words)


def _edit_words(run: RunRecord, evidence: Evidence) -> tuple[str, ...]:
    """The audit log's entry of that moment, if there is one: zone rules and old logs have none."""
    moment = run.finished_at
    near = [
        one
        for one in evidence.entries
        if moment is not None and one.action in EDITS and abs(one.at - moment) <= SAME_MOMENT
    ]
    return tuple(f"That was {one.action}{by_whom([one])}." for one in near[:1])


def _ready_words(run: RunRecord, evidence: Evidence) -> str:
    waited = shown_span(since(run.run_at, evidence.now))
    if run.fence:
        if run.run_at > evidence.now:
            because = f" ({run.reason})" if (run.reason or "").startswith(SNOOZED) else ""
            return f"It waits for its next attempt, which is due at {to_utc_text(run.run_at)}{because}."
        return f"It has been due for its next attempt for {waited}, and no worker has taken it."
    if run.held:
        return f"It has been due for {waited}."
    because = f" ({run.reason})" if run.reason else ""
    return f"It has been due for {waited}, and no worker has taken it{because}."


def _running_words(run: RunRecord, evidence: Evidence) -> str:
    started = "" if run.started_at is None else f" since {to_utc_text(run.started_at)}"
    words = f"{run.worker} runs it{started}: attempt {run.attempt} under fence {run.fence}."
    silent = why_uncertain(run, evidence.workers, evidence.now)
    asked = " It has been asked to stop." if run.cancel_requested else ""
    doubt = "" if silent is None else f" Whether it still runs is uncertain: {silent}."
    return f"{words}{asked}{doubt}"


def _one_hold(hold: Hold, run: RunRecord, evidence: Evidence) -> str:
    match hold:
        case Hold.OPERATOR:
            return f"It is held by name{_who(run, evidence, Action.RUN_HOLD)}."
        case Hold.FROZEN:
            freezes = [_freeze_words(one) for one in _freezes(evidence)]
            return " ".join(freezes) or "Its schedule is frozen."
        case Hold.GATE:
            gate = evidence.gate
            closed = "" if gate is None else f" since {to_utc_text(gate.closed_at)}: {gate.reason}"
            return f"It is held by the catch-up gate of its schedule, which is closed{closed}."
        case Hold.PARKED:
            return f"It is parked: it {run.reason or 'waits for its turn'}."
        case Hold.LIMITED:
            return f"It {run.reason or f'waits for a slot of job {run.job}'}."
        case Hold.PACED:
            return f"It {run.reason or f'stands in the line of job {run.job}, which has limits'}."
    raise AssertionError(f"{hold!r} is not one reason")


def _hold_remedies(run: RunRecord, evidence: Evidence) -> tuple[str, ...]:
    found = []
    if run.held & Hold.OPERATOR:
        found.append(remedies.release(run.run_key))
    found += [remedies.thaw(one.scope) for one in _freezes(evidence) if run.held & Hold.FROZEN]
    found += [remedies.thaw(one.scope) for one in _stops(run, evidence)]
    if run.held & Hold.GATE:
        found.append(remedies.open_gate(run.schedule_id))
    first = _in_the_way(run)
    if run.held & Hold.PARKED and first is not None:
        found.append(remedies.clear_the_way(first))
    return (*found, remedies.call_off(run.run_key))


def _freezes(evidence: Evidence) -> list[Freeze]:
    """Those that cover the schedule, by its id or by one of its labels."""
    return [one for one in evidence.freezes if _covers(one.scope, evidence)]


def _covers(scope: Scope, evidence: Evidence) -> bool:
    match scope.kind:
        case ScopeKind.ALL | ScopeKind.QUEUE:
            return False
        case ScopeKind.LABEL:
            key, value = scope.label
            return evidence.schedule is not None and evidence.schedule.spec.labels.get(key) == value
        case ScopeKind.SCHEDULE:
            return scope.value == evidence.schedule_id


def _stops(run: RunRecord, evidence: Evidence) -> list[Freeze]:
    """The freezes that mark nothing: of everything, and of the run's queue."""
    scopes = Scope(ScopeKind.ALL), Scope(ScopeKind.QUEUE, run.queue)
    return [one for one in evidence.freezes if one.scope in scopes]


def _freeze_words(freeze: Freeze) -> str:
    author = freeze.author
    reason = f': "{author.reason}"' if author.reason else ""
    return (
        f"{_upper(str(freeze.scope))} is frozen since {to_utc_text(freeze.since)} by {author.name}{reason}."
    )


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _who(run: RunRecord, evidence: Evidence, action: Action) -> str:
    """Who did it to the run. A trigger is an action on the schedule, and its entry names the run."""
    asked = action is Action.SCHEDULE_TRIGGER
    return by_whom(
        one
        for one in evidence.entries
        if one.action is action and run.run_key == (one.after.get("run_key") if asked else one.subject)
    )


def _in_the_way(run: RunRecord) -> RunKey | None:
    """The run behind which a parked tick waits, as its reason says."""
    return run.blocked_by or RunKey((run.reason or "").rpartition(" behind ")[2]) or None


def _attempts(count: int) -> str:
    return "one attempt" if count == 1 else f"{count or 'no'} attempts"


def _ended(outcome: str) -> str:
    """The outcomes that the ledger keeps, as verbs."""
    return {"lost": "was lost", "terminated": "was terminated", "dead": "failed for good"}.get(
        outcome, outcome
    )


def _took(run: RunRecord) -> str:
    assert run.started_at is not None
    end: datetime = run.finished_at or run.started_at
    return shown_span(end - run.started_at)
