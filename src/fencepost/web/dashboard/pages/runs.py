"""Runs: what the ledger has, searched and filtered, the newest fire time first."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from fencepost.model.access import Role
from fencepost.model.run import SEARCHED_MAX, Origin, RunState
from fencepost.operations import runs as run_operations
from fencepost.web.dashboard.page import Shown, Visit, page
from fencepost.web.dashboard.run_query import RunQuery, chosen, following_url, runs_filter, url_of

TOLD = {"schedule": "schedule_id", "job": "job", "state": "state", "worker": "worker", "origin": "origin"}
"""What the news say of a run, by what a list asks for."""
PATH = "/runs"


@page(PATH, Role.VIEWER, title="Runs", template="runs.html", section="runs", query=RunQuery)
async def runs_page(visit: Visit[RunQuery]) -> Shown:
    """A page of them."""
    control, query = visit.control, visit.query
    wanted = runs_filter(query, visit.now, query.limit + 1)
    found, jobs = await asyncio.gather(run_operations.find_runs(control, wanted), control.jobs())
    shown = found[: query.limit]
    return {
        "runs": shown,
        "query": query,
        "chosen": chosen(query),
        "states_all": list(RunState),
        "origins": list(Origin),
        "jobs": sorted(jobs),
        "searched_max": SEARCHED_MAX,
        "next_url": following_url(PATH, query, found),
        "first_url": url_of(PATH, query) if query.after else None,
        "here": url_of(PATH, query, query.after),
        "live": live_filter(query),
        "choices": [(name, url_of(PATH, query, **values)) for name, values in CHOICES],
    }


def live_filter(query: RunQuery) -> str | None:
    """Which runs may come to the top of the list as they happen; None where the news do not say enough."""
    asked = chosen(query)
    if query.after or not asked.keys() <= TOLD.keys():
        return None
    return json.dumps({TOLD[name]: str(value) for name, value in asked.items()})


CHOICES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("fired", {"state": None, "held": False}),
    ("planned", {"state": RunState.PLANNED, "held": False}),
    ("running", {"state": RunState.RUNNING, "held": False}),
    ("ready", {"state": RunState.READY, "held": False}),
    ("held", {"state": None, "held": True}),
    ("dead", {"state": RunState.DEAD, "held": False}),
)
"""What people look for most, one click away; the form has the rest."""
