"""The explanation of one tick: why it ran, why it did not, and what would change that, in plain words.

An operator may read an explanation at three in the morning. So each sentence says one thing, in the order in
which things happened. It names runs, workers and people, and ends with the commands that change something.

The evidence decides which explanation it is: of a run that was not withdrawn; else of a missed range; else
of what the history of the schedule says about an instant without a record.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias

from fencepost.core import remedies
from fencepost.core.accounting import SETTLING
from fencepost.core.evidence import Evidence
from fencepost.core.run_explanation import hold_words, is_held, run_remedies, run_words, withdrawn_words
from fencepost.core.serving import unserved_words
from fencepost.core.stuck import begun, shown_span
from fencepost.model.audit import Action
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import RunKey, ScheduleId
from fencepost.model.run import RunRecord, RunState
from fencepost.model.schedule import ScheduleState, ScheduleVersion
from fencepost.model.times import to_utc_text

BackfillRemedy: TypeAlias = Callable[[ScheduleId | None, datetime], str]


class TickVerdict(StrEnum):
    """The explanation in one word: the state of the run, or why there is none."""

    PLANNED = "planned"
    READY = "ready"
    HELD = "held"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    DEAD = "dead"
    SKIPPED = "skipped"
    MISSED = "missed"
    CANCELLED = "cancelled"
    WITHDRAWN = "withdrawn"
    NOT_PLANNED_YET = "not planned yet"
    MISSING = "missing"
    FORGOTTEN = "forgotten"
    NO_SUCH_FIRE_TIME = "no such fire time"
    PAUSED = "paused"
    REMOVED = "removed"
    BEFORE_IT_EXISTED = "before it existed"


NOT_ASKED_FOR = frozenset({TickVerdict.NO_SUCH_FIRE_TIME, TickVerdict.PAUSED, TickVerdict.REMOVED})
"""No version asks for a tick there; where there was one, what matters is that it was withdrawn."""


WITHOUT_WORK = frozenset(
    {
        TickVerdict.PLANNED,
        TickVerdict.READY,
        TickVerdict.HELD,
        TickVerdict.MISSED,
        TickVerdict.NOT_PLANNED_YET,
        TickVerdict.MISSING,
    }
)
"""Where it matters that no running process has the job."""


@dataclass(frozen=True)
class Explanation:
    """What there is to say."""

    schedule_id: ScheduleId | None
    fire_time: datetime
    verdict: TickVerdict
    sentences: tuple[str, ...]
    remedies: tuple[str, ...] = ()
    run_keys: tuple[RunKey, ...] = ()


@dataclass(frozen=True)
class _Ending:
    """The last part of an explanation without a run."""

    verdict: TickVerdict
    sentence: str
    remedies: tuple[str, ...] = ()


def tell(evidence: Evidence) -> Explanation:
    """The explanation of what the evidence is about."""
    standing = [run for run in evidence.runs if run.state is not RunState.WITHDRAWN]
    if standing:
        return _of_run(evidence, standing)
    ending = _of_range(evidence) if evidence.missed is not None else _of_nothing(evidence)
    if not evidence.runs:
        return _explanation(evidence, ending.verdict, (ending.sentence,), ending.remedies)
    withdrawn = [sentence for run in evidence.runs for sentence in withdrawn_words(run, evidence)]
    verdict = TickVerdict.WITHDRAWN if ending.verdict in NOT_ASKED_FOR else ending.verdict
    return _explanation(evidence, verdict, (*withdrawn, ending.sentence), ending.remedies)


def _of_run(evidence: Evidence, standing: list[RunRecord]) -> Explanation:
    """Explain the run that came furthest, and mention the others."""
    run = max(standing, key=lambda one: (begun(one), one.attempt, one.version))
    others = [one for one in evidence.runs if one.run_key != run.run_key]
    beside = tuple(f"There is also {one.run_key}, which is {one.state}." for one in others)
    held = is_held(run, evidence)
    words = (*run_words(run, evidence), *hold_words(run, evidence), *beside)
    verdict = TickVerdict.HELD if held else TickVerdict(run.state)
    return _explanation(evidence, verdict, words, run_remedies(run, evidence))


def _of_range(evidence: Evidence) -> _Ending:
    one = evidence.missed
    assert one is not None
    span = f"from {to_utc_text(one.first)} to {to_utc_text(one.last)}"
    sentence = (
        f"When it was planned it could not run any more ({one.reason}): it is one of {one.count} "
        f"missed ticks {span}, which are counted in one row."
    )
    commands = (_backfill_remedy(evidence, remedies.backfill_missed), remedies.catch_up(evidence.schedule_id))
    return _Ending(TickVerdict.MISSED, sentence, commands)


def _of_nothing(evidence: Evidence) -> _Ending:
    if evidence.version is None:
        return _not_in_force(evidence)
    if evidence.tick is None:
        return _no_fire_time(evidence)
    if _is_forgotten(evidence):
        assert evidence.forgotten_before is not None
        before = to_utc_text(evidence.forgotten_before)
        sentence = f"Retention has removed ended ticks from before {before}; what became of this one is gone."
        commands = (remedies.backfill_forgotten(evidence.schedule_id, evidence.fire_time),)
        return _Ending(TickVerdict.FORGOTTEN, sentence, commands)
    if not _is_settled(evidence):
        return _not_planned_yet(evidence)
    number = evidence.version.version
    sentence = f"Version {number} asks for it, and the ledger has nothing about it: it is missing."
    return _Ending(
        TickVerdict.MISSING,
        sentence,
        (remedies.repair(evidence.schedule_id, evidence.fire_time), remedies.plan()),
    )


def _not_in_force(evidence: Evidence) -> _Ending:
    """No version governs the instant: it lies before all of them, between two, or after the last."""
    versions, moment = evidence.versions, evidence.fire_time
    earlier = [one for one in versions if one.in_force_until is not None and one.in_force_until < moment]
    if not earlier:
        born = "" if not versions else f", at {to_utc_text(versions[0].in_force_from)}"
        sentence = f"The schedule came into being later{born}."
        return _Ending(TickVerdict.BEFORE_IT_EXISTED, sentence, (_backfill_remedy(evidence),))
    last = max(earlier, key=lambda one: one.version)
    action = _closing_action(evidence, last)
    assert last.in_force_until is not None
    since = to_utc_text(last.in_force_until)
    who = evidence.who(evidence.schedule_id, action)
    if action is Action.SCHEDULE_REMOVE:
        sentence = f"The schedule had been removed at {since}{who}."
        return _Ending(TickVerdict.REMOVED, sentence, (remedies.history(evidence.schedule_id),))
    sentence = f"The schedule had been paused at {since}{who}."
    paused = evidence.schedule is not None and evidence.schedule.state is ScheduleState.PAUSED
    first = remedies.resume(evidence.schedule_id) if paused else remedies.history(evidence.schedule_id)
    return _Ending(TickVerdict.PAUSED, sentence, (first, _backfill_remedy(evidence)))


def _backfill_remedy(evidence: Evidence, usual: BackfillRemedy = remedies.backfill) -> str:
    """The command that runs it after the fact; what retention may have removed needs one more option."""
    remedy = remedies.backfill_forgotten if _is_forgotten(evidence) else usual
    return remedy(evidence.schedule_id, evidence.fire_time)


def _is_forgotten(evidence: Evidence) -> bool:
    """Whether retention may have removed what was known of it."""
    return evidence.forgotten_before is not None and evidence.fire_time < evidence.forgotten_before


def _closing_action(evidence: Evidence, last: ScheduleVersion) -> Action:
    """What ended a version that has no successor at once: by the audit log, or by the schedule's state."""
    closing = (Action.SCHEDULE_PAUSE, Action.SCHEDULE_REMOVE)
    for one in evidence.entries:
        if one.subject == evidence.schedule_id and one.action in closing and one.at <= evidence.fire_time:
            return one.action
    is_last = last.version == max(one.version for one in evidence.versions)
    removed = evidence.schedule is not None and evidence.schedule.state is ScheduleState.REMOVED
    return Action.SCHEDULE_REMOVE if is_last and removed else Action.SCHEDULE_PAUSE


def _no_fire_time(evidence: Evidence) -> _Ending:
    assert evidence.version is not None
    near = [
        f"the one {word} is {to_utc_text(moment)}"
        for word, moment in (("before", evidence.before), ("after", evidence.after))
        if moment is not None
    ]
    rest = f"; {', '.join(near)}" if near else ""
    sentence = f"This is no fire time of version {evidence.version.version}, the one in force then{rest}."
    return _Ending(TickVerdict.NO_SUCH_FIRE_TIME, sentence, (remedies.trigger(evidence.schedule_id),))


def _not_planned_yet(evidence: Evidence) -> _Ending:
    assert evidence.tick is not None
    planned_at = evidence.fire_time - timedelta(seconds=evidence.horizon_s)
    ahead = shown_span(timedelta(seconds=evidence.horizon_s))
    due = to_utc_text(evidence.tick.run_at)
    if planned_at > evidence.now:
        when = f"it will be at about {to_utc_text(planned_at)}, {ahead} ahead"
        return _Ending(
            TickVerdict.NOT_PLANNED_YET, f"It has not been planned yet; {when}, and it is due at {due}."
        )
    sentence = f"It has not been planned yet and is due at {due}; the next planning pass will write it."
    return _Ending(TickVerdict.NOT_PLANNED_YET, sentence, (remedies.plan(),))


def _is_settled(evidence: Evidence) -> bool:
    """Whether a planner has had its chance to plan it: see `core.accounting`."""
    schedule, version = evidence.schedule, evidence.version
    assert version is not None
    if evidence.fire_time <= evidence.now - SETTLING:
        return True
    ours = schedule is not None and schedule.version == version.version
    return ours and schedule is not None and evidence.fire_time <= schedule.planned_through


def _explanation(
    evidence: Evidence, verdict: TickVerdict, sentences: tuple[str, ...], commands: tuple[str, ...]
) -> Explanation:
    if evidence.unserved is not None and verdict in WITHOUT_WORK:
        words = unserved_words(evidence.unserved)
        sentences = (*sentences, f"{words[:1].upper()}{words[1:]}.")
        commands = (remedies.serve(evidence.unserved), *commands)
    keys = tuple(run.run_key for run in evidence.runs)
    return Explanation(evidence.schedule_id, evidence.fire_time, verdict, sentences, commands, keys)
