"""One run: its attempts, its log, its explanation, and what can be done with it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from msgspec import Struct

from fencepost.core.lifecycle import ENDED
from fencepost.core.masking import masked, masked_text
from fencepost.errors import UnknownRun
from fencepost.model.access import Role
from fencepost.model.identifiers import RunKey
from fencepost.model.run import REPLAYABLE, Hold, RunRecord, RunState
from fencepost.model.run_log import LoggedChunk, dropped_before
from fencepost.model.times import from_utc_text
from fencepost.operations import runs as run_operations
from fencepost.operations.responses.runs import effect_responses
from fencepost.operations.runs import RunRequest
from fencepost.operations.why import why_run
from fencepost.telemetry.traces.ids import trace_text
from fencepost.web.dashboard import links
from fencepost.web.dashboard.page import NoQuery, Rendered, Shown, Visit, page
from fencepost.web.dashboard.shown_json import shown_json
from fencepost.web.dashboard.tell import Tell
from fencepost.web.dashboard.tries import WAITING, attempts_chart, tries_of

BEFORE_THE_LOG = "0.0"
"""Where nothing was written yet: what is written before the stream begins is told too."""


class Verbs(Struct, frozen=True):
    """What makes sense for a run as it stands."""

    cancel: bool
    skip: bool
    hold: bool
    release: bool
    replay: bool


@page("/runs/{run_key}", Role.VIEWER, title="Run", template="run.html", section="runs")
async def run_page(visit: Visit[NoQuery]) -> Shown:
    """All there is to see of it."""
    control, run_key = visit.control, visit.path["run_key"]
    try:
        (run, attempts), chain, log, effects = await asyncio.gather(
            run_operations.run_with_attempts(control, run_key),
            control.store.ledger.chain(control.namespace, RunKey(run_key)),
            run_operations.log_tail(control, run_key),
            run_operations.effects(control, run_key),
        )
    except UnknownRun:
        return await _gone(visit, run_key)
    explanation = await why_run.carry_out(control, RunRequest(run_key=run_key))
    tries = tries_of(run, attempts)
    values = {
        "run": run,
        "chain": chain,
        "tries": tries,
        "effects": effect_responses(effects),
        "chart": attempts_chart(run, tries, Tell(visit.now, visit.zone)),
        "explanation": explanation,
        "log": _text(log),
        "log_attempt": log[-1].attempt if log else None,
        "log_after": f"{log[-1].attempt}.{log[-1].chunk.number}" if log else BEFORE_THE_LOG,
        "ended": run.state in ENDED,
        "verbs": verbs_of(run),
        "payload": shown_json(masked(run.payload)),
        "trace_id": trace_text(run),
        "siblings": links.with_query("/runs", {"schedule": run.schedule_id}),
    }
    return Rendered(values, title=run_key)


def verbs_of(run: RunRecord) -> Verbs:
    """What an operator may do with it."""
    waits = run.state in WAITING
    held = Hold.OPERATOR in run.held
    return Verbs(
        cancel=waits or (run.state is RunState.RUNNING and not run.cancel_requested),
        skip=waits and run.fence == 0,
        hold=waits and not held,
        release=waits and held,
        replay=run.state in REPLAYABLE,
    )


async def _gone(visit: Visit[NoQuery], run_key: str) -> Rendered:
    """A tick without a row has an explanation all the same; what is no tick of this namespace has none."""
    explanation = await why_run.carry_out(visit.control, RunRequest(run_key=run_key))
    values = {
        "explanation": explanation,
        "schedule_id": explanation.schedule_id,
        "fire_time": from_utc_text(explanation.fire_time),
    }
    return Rendered(values, title=run_key, template="why.html", status=404)


def _text(log: Sequence[LoggedChunk]) -> str:
    """The lines that were kept, with a word where some were not."""
    parts: list[str] = []
    last: LoggedChunk | None = None
    for one in log:
        dropped = 0 if last is None else dropped_before(one.chunk, last.chunk)
        if dropped:
            parts.append(f"… {dropped} lines were not kept …")
        parts.append(masked_text(one.chunk.text))
        last = one
    return "\n".join(parts)
