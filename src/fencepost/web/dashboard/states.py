"""The states of a run as they are shown: a word and a shape, so that no colour has to be told apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fencepost.model.run import Hold, RunState


class Look(NamedTuple):
    """How something is shown: its mark (`charts/marks.py`), its word, and what that means."""

    mark: str
    word: str
    means: str


SHOWN: Mapping[str, Look] = {
    RunState.PLANNED: Look("planned", "planned", "written down, not due yet"),
    RunState.READY: Look("ready", "ready", "due, or waits for a retry"),
    RunState.RUNNING: Look("running", "running", "a worker is at it"),
    RunState.SUCCEEDED: Look("fine", "succeeded", "it ran"),
    RunState.DEAD: Look("dead", "dead", "its retries are used up, or it can never succeed"),
    RunState.SKIPPED: Look("skipped", "skipped", "an earlier run was in its way, or somebody called it off"),
    RunState.MISSED: Look("missed", "missed", "it came too late, and the ledger says why"),
    RunState.CANCELLED: Look("cancelled", "cancelled", "somebody stopped it"),
    RunState.WITHDRAWN: Look("withdrawn", "withdrawn", "its schedule was changed before it fired"),
}

HELD: Mapping[Hold, str] = {
    Hold.OPERATOR: "held",
    Hold.FROZEN: "frozen",
    Hold.GATE: "gate closed",
    Hold.PARKED: "waits its turn",
    Hold.LIMITED: "waits for a slot",
    Hold.PACED: "waits for the rate",
}
