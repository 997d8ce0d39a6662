"""Every tick has an explanation: what happened, in one word and in sentences, and what would change it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fencepost.core.evidence import Evidence
from fencepost.core.explanation import Explanation, TickVerdict, tell
from fencepost.core.run_explanation import HOLDS
from fencepost.model.audit import Action, Author, Entry
from fencepost.model.clocks import StoreTime
from fencepost.model.freeze import Freeze, Scope, ScopeKind
from fencepost.model.gate import ClosedGate
from fencepost.model.identifiers import Epoch, Fence, JobName, RunKey, Shard
from fencepost.model.plan import Tick
from fencepost.model.run import Hold, Origin, RunState
from fencepost.model.schedule import Schedule, ScheduleState, ScheduleVersion
from tests.core.facts import SCHEDULE, key, moment
from tests.core.histories import GONE, NS, WORKER, attempt, missed, run, version

ANNA = Author("anna", "cli on web-3", "quarter end")
NOW = moment(300)
ONE = (version(1, 0, labels={"team": "ops"}),)
PAUSED = (version(1, 0, 120), version(2, 240))
BEHIND = RunKey("beat#before#1")


def schedule(
    versions: tuple[ScheduleVersion, ...], state: ScheduleState = ScheduleState.ACTIVE, planned_s: float = 300
) -> Schedule:
    last = versions[-1]
    return Schedule(
        namespace=NS,
        schedule_id=SCHEDULE,
        shard=Shard(2),
        version=last.version,
        state=state,
        spec=last.spec,
        planned_through=moment(planned_s),
        updated_at=moment(0),
    )


def evidence(seconds: float = 120, **changes: Any) -> Evidence:
    """What is known of the tick of that second; it is a fire time unless said otherwise."""
    base = Evidence(
        fire_time=moment(seconds),
        now=NOW,
        schedule_id=SCHEDULE,
        schedule=schedule(ONE),
        versions=ONE,
        version=ONE[0],
        tick=Tick(moment(seconds), moment(seconds)),
        workers=frozenset({WORKER}),
    )
    return replace(base, **changes)


def entry(action: Action, subject: str = key(120), at: StoreTime = NOW, **after: Any) -> Entry:
    return Entry(1, NS, at, ANNA, action, subject, after=after)


def told(explanation: Explanation) -> str:
    return " ".join(explanation.sentences)


@pytest.mark.parametrize("state", RunState)
@pytest.mark.parametrize("origin", Origin)
@pytest.mark.parametrize("hold", [Hold.NONE, *HOLDS])
def test_every_state_origin_and_hold_has_its_sentences(state: RunState, origin: Origin, hold: Hold) -> None:
    explanation = tell(evidence(runs=(run(120, state, origin=origin, held=hold),)))
    assert explanation.sentences
    for sentence in explanation.sentences:
        assert sentence[0].isupper() or sentence.startswith(WORKER), sentence
        assert sentence.endswith("."), sentence
        assert "None" not in sentence.replace("Backfill None", ""), sentence
    assert all("fencepost " in remedy for remedy in explanation.remedies), explanation.remedies
    assert explanation.remedies


def test_no_worker_is_asked_for_before_a_run_is_due_again() -> None:
    waits = tell(evidence(runs=(run(120, RunState.READY, fence=Fence(3), run_at=moment(330)),)))
    assert waits.remedies == (f"to stop it: fencepost runs cancel '{key(120)}'",)


@pytest.mark.parametrize(
    ("run_changes", "verdict", "words"),
    [
        (("succeeded", {}), "succeeded", "leader of epoch 3 planned it"),
        (("succeeded", {}), "succeeded", "attempt 1 under fence 7"),
        (("succeeded", {"epoch": Epoch(0)}), "succeeded", "written by name"),
        (
            ("succeeded", {"run_at": moment(150), "first_started_at": moment(150)}),
            "succeeded",
            "30s after its fire",
        ),
        (("dead", {"error": "Boom: no fuel", "attempt": 5}), "dead", "5 attempts: Boom: no fuel"),
        (("running", {}), "running", "worker-1 runs it since"),
        (("running", {"cancel_requested": True}), "running", "asked to stop"),
        (("running", {"worker": GONE}), "running", "uncertain: worker worker-0 is not alive"),
        (("running", {"alive_until": moment(200)}), "running", "silent past its deadline for 1m40s"),
        (("ready", {}), "ready", "due for 3m, and no worker has taken it"),
        (("ready", {"fence": Fence(3), "run_at": moment(330)}), "ready", "next attempt, which is due at"),
        (("ready", {"fence": Fence(3), "run_at": moment(290)}), "ready", "due for its next attempt for 10s"),
        (("skipped", {"reason": "overlap", "blocked_by": BEHIND}), "skipped", f"It met {BEHIND}"),
        (("missed", {"reason": "too late: max_lateness is 60s"}), "missed", "too late: max_lateness is 60s"),
        (("cancelled", {"reason": "by hand"}), "cancelled", "by hand"),
        (
            ("succeeded", {"origin": Origin.REPLAY, "attempts_before_replay": 2, "attempt": 3}),
            "succeeded",
            "It had ended, and was replayed",
        ),
        (("succeeded", {"origin": Origin.BACKFILL, "backfill_id": 7}), "succeeded", "Backfill 7"),
        (("succeeded", {"origin": Origin.CATCH_UP}), "succeeded", "admitted to catch-up"),
        (("ready", {"held": Hold.PARKED, "reason": f"waits behind {BEHIND}"}), "held", f"behind {BEHIND}"),
        (("planned", {"run_at": moment(330)}), "planned", "may start in 30s"),
    ],
)
def test_a_run_tells_what_became_of_it(
    run_changes: tuple[str, dict[str, Any]], verdict: str, words: str
) -> None:
    state, changes = run_changes
    explanation = tell(evidence(runs=(run(120, RunState(state), **changes),)))
    assert explanation.verdict == verdict
    assert words in told(explanation)
    assert explanation.run_keys == (key(120),)


@pytest.mark.parametrize(
    ("state", "action", "changes"),
    [
        ("cancelled", Action.RUN_CANCEL, {}),
        ("skipped", Action.RUN_SKIP, {}),
        ("ready", Action.RUN_HOLD, {"held": Hold.OPERATOR}),
        ("ready", Action.RUN_REPLAY, {"origin": Origin.REPLAY}),
        ("ready", Action.RUN_RESTORE, {"epoch": Epoch(0)}),
        ("ready", Action.RUN_RESTORE, {"epoch": Epoch(0), "origin": Origin.CATCH_UP}),
    ],
)
def test_who_did_it_is_named_with_the_reason(state: str, action: Action, changes: dict[str, Any]) -> None:
    explanation = tell(evidence(runs=(run(120, RunState(state), **changes),), entries=(entry(action),)))
    assert 'by anna (cli on web-3): "quarter end"' in told(explanation)
    strangers = (entry(action, "another#run"),)
    assert "anna" not in told(tell(evidence(runs=(run(120, RunState(state), **changes),), entries=strangers)))


def test_the_author_of_an_extra_tick_is_named() -> None:
    runs = (run(120, origin=Origin.MANUAL, epoch=Epoch(0)),)
    ours = (entry(Action.SCHEDULE_TRIGGER, SCHEDULE, run_key=key(120)),)
    others = (entry(Action.SCHEDULE_TRIGGER, SCHEDULE, run_key=key(60)),)
    assert "asked for by anna" in told(tell(evidence(runs=runs, entries=ours)))
    assert "anna" not in told(tell(evidence(runs=runs, entries=others)))


NO_LEADER: dict[str, Any] = {"epoch": Epoch(0)}


@pytest.mark.parametrize(
    ("action", "state", "words"),
    [
        (Action.RUN_RESTORE, "succeeded", "It was missing, and was written by name by anna"),
        (Action.RUN_HOLD, "planned", "No planner had come to it yet when it was held by name by anna"),
        (Action.RUN_HOLD, "succeeded", "No planner had come to it yet when it was held by name by anna"),
        (Action.RUN_SKIP, "skipped", "No planner had come to it yet when it was called off by name by anna"),
    ],
)
@pytest.mark.parametrize("origin", [Origin.LIVE, Origin.CATCH_UP, Origin.MANUAL])
def test_a_tick_that_was_written_by_name_says_by_whom_and_why(
    action: Action, state: str, words: str, origin: Origin
) -> None:
    runs = (run(120, RunState(state), origin=origin, **NO_LEADER),)
    said = told(tell(evidence(runs=runs, entries=(entry(action),))))
    assert said.startswith(words)
    assert "epoch 0" not in said
    assert ("was missing" in said) is (action is Action.RUN_RESTORE)


def test_a_hold_that_came_later_did_not_write_the_tick() -> None:
    held = replace(entry(Action.RUN_HOLD), before={"state": "planned"})
    said = told(tell(evidence(runs=(run(120, **NO_LEADER),), entries=(held,))))
    assert said.startswith("It was written by name and not by a planner, under version 1.")


@pytest.mark.parametrize(("changes", "entries"), [({}, ()), (NO_LEADER, (entry(Action.RUN_HOLD),))])
def test_a_held_tick_that_an_edit_spared_is_no_extra_tick(
    changes: dict[str, Any], entries: tuple[Entry, ...]
) -> None:
    said = told(tell(evidence(runs=(run(120, origin=Origin.MANUAL, **changes),), entries=entries)))
    assert "It was held when its schedule was edited, and stayed as a tick by hand." in said
    assert "extra tick" not in said


FROZEN = replace(run(120, RunState.READY), held=Hold.FROZEN)


@pytest.mark.parametrize(
    ("scope", "covers", "remedy"),
    [
        (Scope(ScopeKind.SCHEDULE, SCHEDULE), True, f"thaw --schedule {SCHEDULE}"),
        (Scope(ScopeKind.SCHEDULE, "other"), False, ""),
        (Scope(ScopeKind.LABEL, "team=ops"), True, "thaw --label team=ops"),
        (Scope(ScopeKind.LABEL, "team=web"), False, ""),
        (Scope(ScopeKind.ALL), True, "thaw --all"),
    ],
)
def test_the_freezes_that_cover_it_are_named(scope: Scope, covers: bool, remedy: str) -> None:
    explanation = tell(evidence(runs=(FROZEN,), freezes=(Freeze(NS, scope, NOW, ANNA),)))
    assert explanation.verdict is TickVerdict.HELD
    assert ("by anna" in told(explanation)) is covers
    assert remedy in " ".join(explanation.remedies)


def test_a_freeze_of_everything_holds_what_waits_and_nothing_else() -> None:
    freezes = (Freeze(NS, Scope(ScopeKind.ALL), NOW, ANNA),)
    assert tell(evidence(runs=(run(120, RunState.READY),), freezes=freezes)).verdict is TickVerdict.HELD
    assert tell(evidence(runs=(run(120),), freezes=freezes)).verdict is TickVerdict.SUCCEEDED


def test_a_closed_gate_says_why_it_closed_and_who_decides() -> None:
    gate = ClosedGate(NS, SCHEDULE, NOW, "7 of the last 10 catch-up runs failed", 3, None, None, None)
    held = run(120, RunState.READY, held=Hold.GATE | Hold.OPERATOR, origin=Origin.CATCH_UP)
    explanation = tell(evidence(runs=(held,), gate=gate))
    assert "7 of the last 10" in told(explanation)
    assert any("gate open" in remedy for remedy in explanation.remedies)
    assert any("runs release" in remedy for remedy in explanation.remedies)


def test_failed_attempts_are_told_in_their_order_and_not_all_of_very_many() -> None:
    again = run(120, attempt=3, fence=Fence(9))
    kept = [attempt(1, "failed", "Boom"), attempt(2, "lost"), attempt(3, "succeeded")]
    words = told(tell(evidence(runs=(again,), attempts={key(120): kept})))
    assert words.index("Attempt 1") < words.index("Attempt 2 of worker-1 under fence 2 was lost")
    assert "Attempt 3 of" not in words
    many = [attempt(number, "failed") for number in range(1, 51)]
    explanation = tell(evidence(runs=(replace(again, attempt=51),), attempts={key(120): many}))
    assert len(explanation.sentences) < 30
    assert "There were 30 attempts before" in told(explanation)


def test_the_run_that_came_furthest_speaks_and_the_others_are_named() -> None:
    runs = (run(120, RunState.WITHDRAWN), run(120, RunState.SKIPPED, 2), run(120, number=3))
    explanation = tell(evidence(runs=runs))
    assert explanation.verdict is TickVerdict.SUCCEEDED
    assert f"There is also {runs[1].run_key}, which is skipped." in explanation.sentences


def test_a_missed_range_speaks_for_its_ticks() -> None:
    explanation = tell(evidence(missed=missed(60, 180, 3)))
    assert explanation.verdict is TickVerdict.MISSED
    assert "one of 3 missed ticks" in told(explanation)
    assert "too late" in told(explanation)


@pytest.mark.parametrize(
    ("changes", "verdict", "words"),
    [
        ({}, "missing", "Version 1 asks for it, and the ledger has nothing"),
        ({"forgotten_before": moment(121)}, "forgotten", "Retention has removed"),
        ({"forgotten_before": moment(120)}, "missing", ""),
        (
            {"tick": None, "before": moment(60), "after": moment(180)},
            "no such fire time",
            "the one before is 2026-03-01T09:01:00Z, the one after is 2026-03-01T09:03:00Z",
        ),
        ({"tick": None}, "no such fire time", "no fire time of version 1, the one in force then."),
        ({"version": None, "versions": (version(1, 200),)}, "before it existed", "2026-03-01T09:03:20Z"),
    ],
)
def test_where_there_is_nothing_the_history_says_why(
    changes: dict[str, Any], verdict: str, words: str
) -> None:
    explanation = tell(evidence(**changes))
    assert explanation.verdict == verdict
    assert words in told(explanation)


@pytest.mark.parametrize(
    ("fire_s", "planned_s", "verdict", "words"),
    [
        (900, 360, "not planned yet", "at about 2026-03-01T09:14:00Z, 1m ahead"),
        (330, 310, "not planned yet", "the next planning pass will write it"),
        (330, 360, "missing", ""),
        (250, 200, "not planned yet", "and is due at"),
        (240, 200, "missing", ""),
    ],
)
def test_what_no_planner_has_come_to_is_not_missing_yet(
    fire_s: float, planned_s: float, verdict: str, words: str
) -> None:
    explanation = tell(evidence(fire_s, schedule=schedule(ONE, planned_s=planned_s)))
    assert explanation.verdict == verdict
    assert words in told(explanation)


@pytest.mark.parametrize(
    ("versions", "state", "entries", "verdict", "words"),
    [
        (PAUSED, ScheduleState.ACTIVE, (), "paused", "paused at 2026-03-01T09:02:00Z."),
        (PAUSED, ScheduleState.ACTIVE, (Action.SCHEDULE_PAUSE,), "paused", "by anna"),
        (PAUSED, ScheduleState.ACTIVE, (Action.SCHEDULE_REMOVE,), "removed", "by anna"),
        (PAUSED[:1], ScheduleState.PAUSED, (), "paused", ""),
        (PAUSED[:1], ScheduleState.REMOVED, (), "removed", "removed at 2026-03-01T09:02:00Z."),
    ],
)
def test_a_schedule_that_was_paused_or_removed_then_says_so(
    versions: tuple[ScheduleVersion, ...],
    state: ScheduleState,
    entries: tuple[Action, ...],
    verdict: str,
    words: str,
) -> None:
    log = tuple(entry(one, SCHEDULE, moment(120)) for one in entries)
    explanation = tell(
        evidence(
            180, versions=versions, version=None, tick=None, schedule=schedule(versions, state), entries=log
        )
    )
    assert explanation.verdict == verdict
    assert words in told(explanation)


def test_a_withdrawn_tick_names_the_edit_that_withdrew_it() -> None:
    gone = run(180, RunState.WITHDRAWN, finished_at=moment(150), reason="the schedule was edited")
    log = (
        entry(Action.SCHEDULE_PUT, SCHEDULE, moment(290)),
        entry(Action.SCHEDULE_PUT, SCHEDULE, moment(150)),
    )
    explanation = tell(evidence(180, runs=(gone,), tick=None, entries=log))
    assert explanation.verdict is TickVerdict.WITHDRAWN
    assert "the schedule was edited" in told(explanation)
    assert told(explanation).count("That was schedule.put by anna") == 1
    unknown = tell(evidence(180, runs=(gone,), tick=None, entries=log[:1]))
    assert "That was" not in told(unknown)


def test_a_withdrawn_tick_that_is_asked_for_again_is_missing() -> None:
    explanation = tell(evidence(120, runs=(run(120, RunState.WITHDRAWN),)))
    assert explanation.verdict is TickVerdict.MISSING
    assert "was withdrawn" in told(explanation)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"missed": missed(60, 180, 3)},
        {"version": None, "versions": (version(1, 200),)},
        {"version": None, "versions": (version(1, 0, 60), version(2, 240))},
    ],
)
def test_what_retention_may_have_removed_is_mended_by_force(changes: dict[str, Any]) -> None:
    for seconds, forced in ((121, True), (120, False)):
        explanation = tell(evidence(forgotten_before=moment(seconds), **changes))
        assert any(remedy.endswith("--force") for remedy in explanation.remedies) is forced, (
            explanation.remedies
        )


def test_a_run_by_hand_has_a_story_too() -> None:
    by_hand = run(120, RunState.READY, schedule_id=None, job=JobName("resize"), epoch=Epoch(0))
    explanation = tell(Evidence(by_hand.fire_time, NOW, runs=(by_hand,)))
    assert told(explanation).startswith("It was enqueued by hand.")
    assert explanation.verdict is TickVerdict.READY


def test_the_range_that_a_mend_names_is_that_of_the_fire_time_alone() -> None:
    (remedy, _) = tell(evidence()).remedies
    assert "--from 2026-03-01T09:02:00Z --to 2026-03-01T09:02:00Z --repair" in remedy
