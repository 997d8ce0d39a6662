"""What a chaos run leaves behind: a table for people, the same figures for programs, and a picture."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from fencepost.model.run import RunState
from tests.chaos.campaign import (
    FAILOVERS,
    KILLS,
    REFUSED,
    RESCUED,
    RESTARTS,
    STALLS,
    TICKED,
    Campaign,
    Result,
)
from tests.chaos.nemesis import STALL_IN_WRITE
from tests.chaos.picture import LOST_RUN, RUN, STYLES, Bar, Panel, draw
from tests.chaos.stage import pid_of
from tests.history.findings import ends_attempt, rescues
from tests.history.model import Change

BARS_MAX = 260
"""How many runs are drawn in one row; more would be one solid bar."""
BUCKETS_MAX = 320
SHOWN_MAX = 40
PICTURE, TABLE, FIGURES = "chaos.svg", "chaos.txt", "figures.json"
TOTAL = "in all"
SKEWED = "this host's clock differs from the store's"
RUN_KEY = re.compile(r"[\w-]+#[\w:.-]+(?:#\d+)?")

Figures = Mapping[str, int]


def figures(result: Result) -> Figures:
    """All numbers of one fleet."""
    history, counts = result.history, result.scene.counts
    done = Counter(fault.kind for fault in history.faults)
    states = Counter(
        change.after.state
        for change in history.changes
        if change.after is not None and (change.before is None or change.before.state != change.after.state)
    )
    return {
        "seconds": round((history.ended_at - result.scene.since).total_seconds()),
        KILLS: counts[KILLS],
        STALLS: counts[STALLS],
        "of these in mid-write": done[STALL_IN_WRITE],
        "partitions": done["partition"] + done["partition one way"],
        "resets": done["reset"],
        "lost answers": done["lost answer"],
        "clock jumps": done["clock jump"],
        "clocks reported as wrong": len(result.scene.stage.told(SKEWED)),
        RESTARTS: counts[RESTARTS],
        FAILOVERS: counts[FAILOVERS],
        "lease stores restarted or wiped": done["lease store restart"] + done["lease store wiped"],
        REFUSED: sum(not write.accepted for write in history.plan_writes),
        "leaders registered": len(history.registrations),
        RESCUED: result.rescued,
        "attempts": sum(1 for _ in history.starts()),
        "effects": len(history.effects),
        "effects that a fence refuses": sum(not one.taken_by_fenced for one in history.effects),
        "acknowledged orders": len(history.acknowledged),
        "changes recorded": len(history.changes),
        **{f"runs {state}": states[state] for state in _SHOWN_STATES},
        TICKED: result.account.expected,
        "ticks missing": len(result.account.missed),
        "ticks doubled": len(result.account.doubled),
        "ticks not asked for": len(result.account.unasked),
        "acknowledged and lost": len(result.lost),
        "violations and findings": len(list(result.faults)),
    }


_SHOWN_STATES = (
    RunState.SUCCEEDED,
    RunState.SKIPPED,
    RunState.MISSED,
    RunState.CANCELLED,
    RunState.DEAD,
)


def write(campaign: Campaign, results: Sequence[Result], seed: int, folder: Path) -> str:
    """Leave all three in the folder; the table is what is told."""
    folder.mkdir(parents=True, exist_ok=True)
    by_fleet = {result.scene.part.name: figures(result) for result in results}
    by_fleet[TOTAL] = _sum(by_fleet.values())
    told = "\n".join(_told(campaign, results, by_fleet, seed))
    (folder / TABLE).write_text(told + "\n")
    content = {
        "seed": seed,
        "floors": dict(campaign.floors),
        "fleets": by_fleet,
        "seen": {result.scene.part.name: dict(sorted(result.seen.items())) for result in results},
    }
    (folder / FIGURES).write_text(json.dumps(content, indent=2) + "\n")
    (folder / PICTURE).write_text(_picture(results, seed))
    return told


def evidence(result: Result) -> Iterator[str]:
    """Every change of every run that a violation names."""
    named = {key for fault in result.faults for key in RUN_KEY.findall(fault)}
    for change in result.history.changes:
        if change.run.run_key in named:
            yield str(change)


def _sum(fleets: Iterable[Figures]) -> Figures:
    total: Counter[str] = Counter()
    for one in fleets:
        total.update(one)
    return dict(total)


def _told(
    campaign: Campaign, results: Sequence[Result], by_fleet: Mapping[str, Figures], seed: int
) -> Iterator[str]:
    counts = campaign.counts
    yield f"chaos, seed {seed}"
    yield ""
    yield from _table(by_fleet)
    yield ""
    for what, floor in campaign.floors.items():
        is_met = "met" if counts[what] >= floor else "NOT MET"
        yield f"{is_met:8} {what}: {counts[what]:,} of at least {floor:,}"
    yield ""
    for result in results:
        for name, lacks in result.verdict.silent.items():
            needed = ", ".join(sorted(lacks))
            yield f"{result.scene.part.name}: the checker of {name} had no say, it needs {needed}"
        for name in result.verdict.idle:
            yield f"{result.scene.part.name}: the checker of {name} had nothing to look at"
    yield ""
    seen = sum((result.seen for result in results), Counter[str]())
    yield "went through: " + ", ".join(f"{name} {number:,}" for name, number in sorted(seen.items()))
    yield ""
    faults = [fault for result in results for fault in result.faults]
    yield from faults[:SHOWN_MAX]
    yield f"{len(faults)} violations and findings" if faults else "no violation"


def _table(by_fleet: Mapping[str, Figures]) -> Iterator[str]:
    widths = {name: max(len(name), 10) for name in by_fleet}
    names = list(by_fleet[TOTAL])
    first = max(map(len, names))
    yield " " * first + "".join(f"  {name:>{widths[name]}}" for name in by_fleet)
    for what in names:
        cells = "".join(f"  {fleet[what]:>{widths[name]},}" for name, fleet in by_fleet.items())
        yield f"{what:<{first}}{cells}"


def _picture(results: Sequence[Result], seed: int) -> str:
    began = min(result.scene.since for result in results)
    seconds = max((result.history.ended_at - began).total_seconds() for result in results)
    total = _sum([figures(result) for result in results])
    title = (
        f"{total[TICKED]:,} ticks through {total[KILLS]} kills, {total[STALLS]} stalls, "
        f"{total[RESTARTS]} store restarts and {total[FAILOVERS]} failovers: "
        f"{total['ticks missing']} missing, {total['ticks doubled']} doubled, "
        f"{total['acknowledged and lost']} acknowledged lost (seed {seed})"
    )
    lanes = {result.lane: "" for result in results}
    panels = [_joined([_panel(result, began) for result in results if result.lane == lane]) for lane in lanes]
    return draw(title, panels, seconds)


def _joined(panels: Sequence[Panel]) -> Panel:
    """The fleets of one lane in one panel, for they came one after the other."""
    return Panel(
        panels[0].title if len(panels) == 1 else "leases",
        list(dict.fromkeys(row for panel in panels for row in panel.rows)),
        [bar for panel in panels for bar in panel.bars],
        [
            point
            for panel in panels
            for point in ((panel.line[0][0], 0.0), *panel.line, (panel.line[-1][0], 0.0))
        ],
        [mark for panel in panels for mark in panel.marks],
        [
            (at_s, caption if len(panels) == 1 else f"{panel.title}: {caption}")
            for panel in panels
            for at_s, caption in panel.captions
        ],
    )


def _panel(result: Result, began: datetime) -> Panel:
    """What there is to see of one fleet."""
    history, stage = result.history, result.scene.stage
    slots = {member.pid: slot.name for slot in stage.slots for member in slot.members}

    def seconds(at: datetime) -> float:
        return (at - began).total_seconds()

    faults = [
        Bar(fault.kind, seconds(fault.since), seconds(fault.until), fault.whom)
        for fault in history.faults
        if fault.kind in STYLES
    ]
    runs = _sampled(list(_runs(history.changes, slots, seconds)))
    return Panel(
        result.scene.part.name,
        [slot.name for slot in stage.slots],
        [*faults, *runs],
        _per_second([seconds(at) for at in _ends(history.changes)]),
        [seconds(write.at) for write in history.plan_writes if not write.accepted],
        [(seconds(result.scene.since), f"{result.account.expected:,} ticks")],
    )


def _runs(
    changes: Sequence[Change], slots: Mapping[int, str], seconds: Callable[[datetime], float]
) -> Iterator[Bar]:
    """Every attempt as a bar in the row of its worker."""
    begun: dict[str, Change] = {}
    for change in changes:
        start = begun.get(change.run.run_key)
        if start is not None and ends_attempt(change):
            del begun[change.run.run_key]
            row = slots.get(pid_of(start.run.worker), "")
            if row:
                kind = LOST_RUN if rescues(change) else RUN
                yield Bar(kind, seconds(start.at), seconds(change.at), row)
        if change.starts:
            begun[change.run.run_key] = change


def _sampled(bars: Sequence[Bar]) -> list[Bar]:
    """All that was lost, and of the rest the long ones and not too many."""
    kept = [bar for bar in bars if bar.kind == LOST_RUN]
    for row in {bar.row for bar in bars}:
        rest = [bar for bar in bars if bar.row == row and bar.kind == RUN and bar.until_s - bar.since_s > 1]
        kept += rest[:: -(-len(rest) // BARS_MAX) or 1]
    return kept


def _ends(changes: Sequence[Change]) -> Iterator[datetime]:
    for change in changes:
        run = change.after
        if run is not None and run.schedule_id is not None and run.state is RunState.SUCCEEDED:
            yield change.at


def _per_second(moments: Sequence[float]) -> list[tuple[float, float]]:
    if not moments:
        return [(0.0, 0.0)]
    first, last = min(moments), max(moments)
    width = max(1.0, (last - first) / BUCKETS_MAX)
    counted = Counter(int((at - first) / width) for at in moments)
    return [(first + (number + 0.5) * width, counted[number] / width) for number in range(max(counted) + 1)]
