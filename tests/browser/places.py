"""Every page there is, with an address of it that shows something: found in the registry, so that a page that
is added later is walked too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from fencepost.model.access import Role
from fencepost.web.dashboard import links
from fencepost.web.dashboard.page import Page, all_pages
from tests.browser.cluster import Cluster

IN_PATH: Mapping[str, str] = {"schedule_id": "letters", "run_key": "burn#kept-0", "job": "greet"}
"""What stands for a value in the path; a page with another one is told to be named here."""
AROUND = {"since": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z"}
FILLED = {
    "filled": "yes",
    "job": "greet",
    "when": "30 2 * * *",
    "tz": "Europe/Berlin",
    "overlap": "skip",
    "mode": "none",
}
BESIDES: Mapping[str, tuple[str, ...]] = {
    "/runs": ("/runs?state=dead", "/runs?text=nowhere"),
    "/runs/{run_key}": (links.run("slow#kept"), links.run("greet#first")),
    "/matrix": ("/matrix?span=6h", "/matrix?span=30d", "/matrix?text=nowhere"),
    "/search": ("/search?text=letters", "/search?text=nothing-like-it"),
    "/schedules": ("/schedules?state=paused", "/schedules?text=nowhere"),
    "/schedules/{schedule_id}": (links.schedule("nightly/eu"), links.schedule("parcels")),
    "/schedules/{schedule_id}/edit": (
        links.with_query(links.schedule("letters", "edit"), {**FILLED, "overlap": "allow"}),
    ),
    "/new-schedule": (links.with_query("/new-schedule", {**FILLED, "schedule_id": "fresh"}),),
    "/schedules/{schedule_id}/backfill": (
        links.with_query(links.schedule("nightly/eu", "backfill"), AROUND),
    ),
    "/dead": ("/dead?job=burn", "/dead?job=nothing"),
    "/log": ("/log?action=schedule.pause",),
}
"""Other addresses of a page that look different: filtered, empty, filled in."""


def _why(cluster: Cluster) -> str:
    (run, *_) = cluster.runs("--schedule", "letters", "--state", "succeeded", "--limit", "1")
    return f"?at={run['fire_time']}"


NEEDED: Mapping[str, Callable[[Cluster], str]] = {"/schedules/{schedule_id}/why": _why}
"""What a page cannot do without behind the `?`."""


SHORT: Mapping[str, str] = {"/runs": "limit=10", "/log": "limit=10", "/dead": "limit=10"}
"""Long lists repeat themselves: a few rows say what there is to say about how they are made."""


def pages_for(role: Role) -> list[Page[Any]]:
    """The pages that somebody of that role may see."""
    return [one for one in all_pages() if role.covers(one.role)]


def addresses(page: Page[Any], cluster: Cluster) -> list[str]:
    """Where a page can be looked at, the plain one first."""
    path = page.path
    for name in page.in_path:
        assert name in IN_PATH, f"{page.path}: say in IN_PATH what stands for {{{name}}}"
        path = path.replace(f"{{{name}}}", quote(IN_PATH[name], safe=""))
    needed = NEEDED.get(page.path)
    return [path + (needed(cluster) if needed else ""), *BESIDES.get(page.path, ())]


def short_addresses(page: Page[Any], cluster: Cluster) -> list[str]:
    """The same, with few rows in a list."""
    limit = SHORT.get(page.path)
    found = addresses(page, cluster)
    return [f"{path}{'&' if '?' in path else '?'}{limit}" for path in found] if limit else found
