"""A worker outside, over the HTTP protocol alone, with the points at which it is killed."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import Request, urlopen

from tests.chaos.sinks import DurableLines
from tests.effects.crash_jobs import EFFECTS, FOLDER, STARTS, die
from tests.effects.crash_points import Point

WAIT_S = 5.0
ANSWER_S = 60.0


@dataclass
class Outside:
    """One start of it, under a name that no other has."""

    address: str
    token: str
    jobs: list[str]
    doomed: Point | None = None

    def serve(self) -> None:
        """One run after the other."""
        order = {"worker": f"outside-{os.getpid()}", "jobs": self.jobs, "wait_s": WAIT_S}
        self._die_at(Point.BEFORE_CLAIM)
        while True:
            for run in self._post("claims", order)["claims"]:
                self._die_at(Point.CLAIM_WRITTEN)
                self._do(run)

    def _do(self, run: dict[str, Any]) -> None:
        folder, key = Path(os.environ[FOLDER]), run["run_key"]
        self._die_at(Point.BEFORE_START)
        DurableLines(folder / STARTS).append(key)
        self._die_at(Point.AFTER_START)
        DurableLines(folder / EFFECTS).append(key)
        self._die_at(Point.EFFECT_DONE)
        self._die_at(Point.BEFORE_REPORT)
        ticket = {"attempt": run["attempt"], "fence": run["fence"]}
        self._post(f"runs/{quote(key, safe='')}/complete", ticket)
        self._die_at(Point.REPORT_WRITTEN)

    def _die_at(self, point: Point) -> None:
        if self.doomed is point:
            die()

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        request = Request(f"http://{self.address}/api/v1/{path}", json.dumps(body).encode())
        request.add_header("Authorization", f"Bearer {self.token}")
        request.add_header("Content-Type", "application/json")
        with urlopen(request, timeout=ANSWER_S) as answer:
            return json.load(answer)
