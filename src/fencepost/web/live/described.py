"""The stream in the OpenAPI document, written by hand: it is no operation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fencepost.web.live.messages import RETRY_MS

EVENTS: Mapping[str, str] = {
    "counts": "how the namespace stands: `ready`, `running`, `dead`, `held`, closed `gates`, "
    "`oldest_ready_s`, `counted_max`",
    "runs": "`{runs, cut}`: runs that began, failed for now or ended; `cut` says that there was more",
    "schedules": "some schedule changed: read them again",
    "leases": "some lease changed hands: read them again",
    "log": "`{run_key, chunks, place}`, where a run is watched: more of its log",
    "resync": "something may have been missed: read again what you show",
}
"""Every type of event, and what it says."""

EXAMPLE = (
    f"retry: {RETRY_MS}\n\nid: 1\nevent: counts\n"
    'data: {"ready":0,"running":2,"dead":1,"held":0,"gates":0,"oldest_ready_s":null,"counted_max":10000}\n\n'
)
DESCRIPTION = (
    "Server-sent events, each with JSON as its data, until the credential is no longer good, an hour is over "
    "or the server stops; then come again. "
    + " ".join(f"`{name}`: {says}." for name, says in EVENTS.items())
    + " Needs the role `viewer`."
)


def described(problems: Mapping[str, Any]) -> dict[str, Any]:
    """The entry of its path; the problems are those that it may answer with."""
    content = {"text/event-stream": {"schema": {"type": "string"}, "example": EXAMPLE}}
    return {
        "get": {
            "operationId": "events",
            "tags": ["live"],
            "summary": "What changes, as it changes",
            "description": DESCRIPTION,
            "parameters": [
                _parameter("run", "The key of a run whose log is wanted too."),
                _parameter("after", "Behind which place of that log, as an event named it: `1.17`."),
                _parameter(
                    "namespace",
                    "Where, for a credential that is good everywhere; the server's own unless given. "
                    "The header `Fencepost-Namespace` says the same.",
                ),
            ],
            "responses": {"200": {"description": "The stream.", "content": content}, **problems},
        }
    }


def _parameter(name: str, says: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": "query",
        "required": False,
        "description": says,
        "schema": {"type": "string"},
    }
