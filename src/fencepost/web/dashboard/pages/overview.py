"""The overview: is everything accounted for?"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from fencepost.model.access import Role
from fencepost.model.run import RunState
from fencepost.model.views import TrafficBucket
from fencepost.web.dashboard.charts.bars import Bar, Line, Part, bars, lines
from fencepost.web.dashboard.charts.gauge import gauge
from fencepost.web.dashboard.overview import BUCKET_S, House, house, needs
from fencepost.web.dashboard.page import NoQuery, Shown, Visit, page
from fencepost.web.dashboard.states import SHOWN
from fencepost.web.dashboard.tell import Tell, count, share, span, whole

STACKED = (
    *(RunState.SUCCEEDED, RunState.SKIPPED, RunState.CANCELLED, RunState.MISSED, RunState.DEAD),
    *(RunState.RUNNING, RunState.READY, RunState.PLANNED),
)
"""From the ground up: what has ended first."""
SHARDS_SHOWN = 12


@page("/", Role.VIEWER, title="Overview", template="overview.html", section="overview")
async def overview_page(visit: Visit[NoQuery]) -> Shown:
    """Completeness, traffic, the fleet, and what needs a person."""
    found = await house(visit.control)
    tell = Tell(visit.now, visit.zone)
    return {
        "house": found,
        "needs": needs(found),
        "gauge": completeness_gauge(found),
        "traffic": traffic_chart(found.traffic, tell),
        "lateness": lateness_chart(found.traffic, tell),
        "fired": sum(sum(one.counts.values()) for one in found.traffic),
        "shown_states": [one for one in STACKED if any(bucket.counts.get(one) for bucket in found.traffic)],
        "late_max_s": max(
            (one.late_max_s for one in found.traffic if one.late_max_s is not None), default=None
        ),
        "shards": found.fleet.shards[:SHARDS_SHOWN],
        "shards_left": max(len(found.fleet.shards) - SHARDS_SHOWN, 0),
    }


def completeness_gauge(found: House) -> Markup:
    """How much of what was expected in the last day has succeeded."""
    part = found.complete.complete
    label = (
        f"{share(part)} of the runs that were expected in the last 24 hours succeeded: {found.complete.words}"
    )
    return gauge(part, share(part), label, found.kind)


def traffic_chart(buckets: Sequence[TrafficBucket], tell: Tell) -> Markup:
    """The ticks of the last hour by what became of them."""
    items = [
        Bar(
            _title(one, tell),
            tuple(Part(SHOWN[state].mark, one.counts.get(state, 0)) for state in STACKED),
            _clock(one, tell),
        )
        for one in buckets
    ]
    total = sum(sum(one.counts.values()) for one in buckets)
    return bars(items, f"Ticks of the last hour, minute by minute: {count(total)} in all", whole)


def lateness_chart(buckets: Sequence[TrafficBucket], tell: Tell) -> Markup:
    """How late runs began."""
    wires = (
        Line("p50", tuple(one.late_p50_s for one in buckets)),
        Line("p95", tuple(one.late_p95_s for one in buckets)),
    )
    titles = [_late_title(one, tell) for one in buckets]
    worst = max((one.late_max_s for one in buckets if one.late_max_s is not None), default=None)
    label = "How late runs of the last hour began" + ("" if worst is None else f"; at worst {span(worst)}")
    return lines(wires, titles, [_clock(one, tell) for one in buckets], label, span)


def _title(bucket: TrafficBucket, tell: Tell) -> str:
    said = ", ".join(
        f"{count(bucket.counts[state])} {state}" for state in STACKED if bucket.counts.get(state)
    )
    return f"{_clock(bucket, tell)}, {span(BUCKET_S)}: {said or 'nothing fired'}"


def _late_title(bucket: TrafficBucket, tell: Tell) -> str:
    if bucket.late_max_s is None:
        return f"{_clock(bucket, tell)}: nothing began"
    half, most, all_of_them = (span(one) for one in (bucket.late_p50_s, bucket.late_p95_s, bucket.late_max_s))
    return f"{_clock(bucket, tell)}: half within {half}, 95 % within {most}, all within {all_of_them}"


def _clock(bucket: TrafficBucket, tell: Tell) -> str:
    return f"{bucket.at.astimezone(tell.zone):%H:%M}"
