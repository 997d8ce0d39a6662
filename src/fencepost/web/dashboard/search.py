"""What a search finds: pages, schedules, jobs, workers and runs of one namespace, a few of each.

What is named exactly so comes first, then what begins so, then what holds the words: of each kind, and among
the kinds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence

from fencepost.model.access import Role
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import RunKey, ScheduleId
from fencepost.model.run import RunFilter, RunRecord
from fencepost.model.schedule import Schedule, ScheduleFilter
from fencepost.operations.control import Control
from fencepost.operations.fleet import live_nodes
from fencepost.web.dashboard import links
from fencepost.web.dashboard.navigation import ELSEWHERE, GROUPS, Place

EACH_MAX = 6
RUNS_SEARCHED_MAX, RUNS_GLANCED_MAX = 25_000, 1_000
"""How many runs are looked through for a page of results, and while the reader types."""


@dataclass(frozen=True)
class Found:
    """One thing: its name, what there is to know of it, and where it is."""

    name: str
    more: str
    href: str


@dataclass(frozen=True)
class KindFound:
    """Things of one kind, the nearest first, and where there are more of them."""

    words: str
    found: tuple[Found, ...]
    all_href: str = ""


async def search(control: Control, role: Role, text: str, *, glance: bool) -> list[KindFound]:
    """What there is of each kind; kinds without anything are left out."""
    wanted = text.strip()
    pages = KindFound("Pages", _nearest(_pages(role, wanted), wanted))
    if not wanted:
        return [pages]
    schedules, jobs, nodes, runs = await asyncio.gather(
        _schedules(control, wanted), control.jobs(), live_nodes(control), _runs(control, wanted, glance)
    )
    low = wanted.lower()
    kinds = (
        pages,
        KindFound(
            "Schedules",
            _nearest((_schedule(one) for one in schedules), wanted),
            links.with_query("/schedules", {"text": wanted}),
        ),
        KindFound(
            "Jobs",
            _nearest((Found(one, "", links.job(one)) for one in jobs if low in one.lower()), wanted),
            links.with_query("/jobs", {"text": wanted}),
        ),
        KindFound(
            "Workers",
            _nearest((_worker(one.node.node_id) for one in nodes if low in one.node.node_id.lower()), wanted),
            links.with_query("/workers", {"text": wanted}),
        ),
        KindFound("Runs", tuple(map(_run, runs)), links.with_query("/runs", {"text": wanted})),
    )
    return sorted((one for one in kinds if one.found), key=lambda one: _distance(one.found[0].name, low))


async def _schedules(control: Control, text: str) -> Sequence[Schedule]:
    store, namespace = control.store, control.namespace
    exact, others = await asyncio.gather(
        store.schedules.get(namespace, ScheduleId(text)),
        store.schedules.find(namespace, ScheduleFilter(text=text, limit=EACH_MAX)),
    )
    return ([] if exact is None else [exact]) + [one for one in others if one.schedule_id != text]


async def _runs(control: Control, text: str, glance: bool) -> Sequence[RunRecord]:
    ledger, namespace = control.store.ledger, control.namespace
    searched_max = RUNS_GLANCED_MAX if glance else RUNS_SEARCHED_MAX
    wanted = RunFilter(text=text, limit=EACH_MAX, searched_max=searched_max)
    exact, others = await asyncio.gather(ledger.get(namespace, RunKey(text)), ledger.list(namespace, wanted))
    found = ([] if exact is None else [exact]) + [one for one in others if one.run_key != text]
    return found[:EACH_MAX]


def _pages(role: Role, text: str) -> Iterator[Found]:
    words = text.lower().split()
    places = [*(place for _, group in GROUPS for place in group), *ELSEWHERE]
    for place in places:
        if role.covers(place.role) and all(_is_in(word, place) for word in words):
            yield Found(place.words, place.also, place.href)


def _is_in(word: str, place: Place) -> bool:
    return word in f"{place.words} {place.also}".lower()


def _schedule(one: Schedule) -> Found:
    state = "" if one.state == "active" else f", {one.state}"
    return Found(one.schedule_id, f"{one.spec.job}{state}", links.schedule(one.schedule_id))


def _worker(node_id: str) -> Found:
    return Found(node_id, "", links.with_query("/workers", {"text": node_id}))


def _run(one: RunRecord) -> Found:
    return Found(one.run_key, str(one.state), links.run(one.run_key))


def _nearest(found: Iterable[Found], text: str) -> tuple[Found, ...]:
    low = text.lower()
    return tuple(sorted(found, key=lambda one: _distance(one.name, low))[: EACH_MAX if text else None])


def _distance(name: str, low: str) -> int:
    known = name.lower()
    return 0 if known == low else 1 if known.startswith(low) else 2 if low in known else 3
