"""What a schedule does when the world is not on time, in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from fencepost.model.durations import format_duration
from fencepost.model.policies import CatchUp, CatchUpMode, Overlap, OverlapKind
from fencepost.model.schedule import ScheduleSpec
from fencepost.operations.responses.triggers import PolicyResponse

GAP_WORDS = {"shift": "fires as the gap ends", "skip": "does not fire"}
FOLD_WORDS = {"first": "fires the first time", "last": "fires the second time", "both": "fires both times"}
UNFINISHED = "While an earlier run is unfinished,"


def policies_in_words(spec: ScheduleSpec, clocks: PolicyResponse | None) -> list[str]:
    """One sentence a policy; `clocks` is what a change of the clocks does, where it does anything."""
    return [
        overlap_words(spec.overlap),
        catch_up_words(spec.catch_up),
        *_gate_words(spec.catch_up),
        *_load_words(spec),
        *_clock_words(clocks),
    ]


def overlap_words(overlap: Overlap) -> str:
    """What a tick does beside an unfinished run."""
    match overlap.kind:
        case OverlapKind.SKIP:
            return f"{UNFINISHED} a tick is skipped."
        case OverlapKind.BUFFER_ONE:
            return f"{UNFINISHED} one tick waits; further ones are skipped."
        case OverlapKind.BUFFER_ALL:
            return f"{UNFINISHED} up to {overlap.waiting_max} ticks wait in their order; others are skipped."
        case OverlapKind.CANCEL_OTHER:
            return f"{UNFINISHED} it is asked to stop, and the tick waits for its end."
        case OverlapKind.TERMINATE_OTHER:
            return f"{UNFINISHED} it is cut off at once, and the tick starts."
        case OverlapKind.ALLOW:
            if overlap.number is None:
                return "Runs may be side by side, any number of them."
            return f"Up to {overlap.number} runs may be side by side; further ticks are skipped."
    assert_never(overlap.kind)


def catch_up_words(catch_up: CatchUp) -> str:
    """What becomes of ticks that are late."""
    late = f"that is not more than {format_duration(catch_up.max_lateness)} late"
    match catch_up.mode:
        case CatchUpMode.NONE:
            return f"A tick {late} still starts; one that is later is missed."
        case CatchUpMode.LATEST:
            return f"Of late ticks the newest {late} runs, and stands for the others."
        case CatchUpMode.SEQUENTIAL:
            return f"Every late tick {late} runs, one after the other, the oldest first."
        case CatchUpMode.PARALLEL:
            return f"Every late tick {late} runs, {catch_up.at_once} at a time where overlap lets them."
    assert_never(catch_up.mode)


def _gate_words(catch_up: CatchUp) -> Iterator[str]:
    if catch_up.mode in (CatchUpMode.NONE, CatchUpMode.LATEST):
        return
    terms = catch_up.gate
    failed = f"more than {terms.failed_share:.0%} of the last {terms.of_last} have failed"
    yield f"Catch-up is held back for a person when more than {terms.waiting_max} wait, or {failed}."


def _load_words(spec: ScheduleSpec) -> Iterator[str]:
    if spec.spread is not None:
        yield f"It starts within {spec.spread} of each fire time, always at the same offset."
    if spec.jitter is not None:
        yield f"Each tick starts within {spec.jitter} of its fire time, at an offset of its own."


def _clock_words(clocks: PolicyResponse | None) -> Iterator[str]:
    if clocks is not None:
        yield (
            f"A time that the clocks skip {GAP_WORDS[clocks.gap]}; "
            f"one that they show twice {FOLD_WORDS[clocks.fold]}."
        )
