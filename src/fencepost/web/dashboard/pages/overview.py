"""The overview: is everything accounted for?"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from fencepost.model.access import Role
from fencepost.model.run import RunState
from fencepost.model.views import TrafficBucket
from fencepost.services.fleet import FleetView
from fencepost.web.dashboard.charts.bars import Bar, Part, bars
from fencepost.web.dashboard.charts.gauge import gauge
from fencepost.web.dashboard.overview import BUCKET_S, House, house, needs
from fencepost.web.dashboard.page import NoQuery, Shown, Visit, page
from fencepost.web.dashboard.states import SHOWN
from fencepost.web.dashboard.tell import Tell, count, share, span, whole
from fencepost.web.dashboard.trends import durations, lateness

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
        "lateness": lateness(found.traffic, tell.minute, "in the last hour"),
        "duration": durations(found.traffic, tell.minute, "in the last hour"),
        "fired": sum(sum(one.counts.values()) for one in found.traffic),
        "shown_states": [one for one in STACKED if any(bucket.counts.get(one) for bucket in found.traffic)],
        "led": led_words(found.fleet),
        "shards": found.fleet.shards[:SHARDS_SHOWN],
        "shards_left": max(len(found.fleet.shards) - SHARDS_SHOWN, 0),
    }


def led_words(fleet: FleetView) -> str | None:
    """How the shards are led, in a line; None where that needs a look."""
    shards = fleet.shards
    well = shards and not fleet.alarms and fleet.trouble is None
    if not well or any(one.holder is None or not one.expires_in_s or one.expires_in_s <= 0 for one in shards):
        return None
    nodes = len({one.holder for one in shards})
    of_nodes = "one node" if nodes == 1 else f"{nodes} nodes"
    of_shards = "The shard is led" if len(shards) == 1 else f"All {len(shards)} shards are led"
    return f"{of_shards} by {of_nodes}"


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
            tell.minute(one.at),
        )
        for one in buckets
    ]
    total = sum(sum(one.counts.values()) for one in buckets)
    return bars(items, f"Ticks of the last hour, minute by minute: {count(total)} in all", whole)


def _title(bucket: TrafficBucket, tell: Tell) -> str:
    said = ", ".join(
        f"{count(bucket.counts[state])} {state}" for state in STACKED if bucket.counts.get(state)
    )
    return f"{tell.minute(bucket.at)}, {span(BUCKET_S)}: {said or 'nothing fired'}"
