"""The last runs of a schedule as a strip."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from markupsafe import Markup

from fencepost.core.catchup import ON_TIME_MAX
from fencepost.model.run import Origin, RunState
from fencepost.model.views import RunMark
from fencepost.web.dashboard.charts.strip import Stripe, strip
from fencepost.web.dashboard.states import SHOWN
from fencepost.web.dashboard.tell import Tell, span

STRIP_RUNS = 30


def strip_of(marks: Sequence[RunMark], tell: Tell, schedule_id: str | None = None) -> Markup:
    """The strip, and in words how often each state is in it."""
    counts = Counter(str(one.state) for one in marks)
    said = ", ".join(f"{number} {state}" for state, number in counts.most_common())
    label = f"The last {len(marks)} runs: {said}" if marks else "No run yet"
    stripes = [Stripe(mark_of(one), title_of(one, tell), one.run_key) for one in marks]
    return strip(stripes, STRIP_RUNS, label, schedule_id)


def mark_of(run: RunMark) -> str:
    """How one run looks: also whether it came late, or once more."""
    if run.state is RunState.SUCCEEDED:
        if run.origin in (Origin.REPLAY, Origin.BACKFILL):
            return "replayed"
        if run.origin is Origin.CATCH_UP or _is_late(run):
            return "late"
    return SHOWN[run.state].mark


def title_of(run: RunMark, tell: Tell) -> str:
    """One run in a line."""
    words = [f"{tell.words(run.fire_time)} {run.state}"]
    if run.took_s is not None:
        words.append(f"took {span(run.took_s)}")
    if _is_late(run):
        words.append(f"began {span(run.late_s)} late")
    if run.attempt > 1:
        words.append(f"attempt {run.attempt}")
    if run.origin is not Origin.LIVE:
        words.append(str(run.origin).replace("_", "-"))
    return ", ".join(words)


def _is_late(run: RunMark) -> bool:
    return run.late_s is not None and run.late_s > ON_TIME_MAX.total_seconds()
