"""What a test expects of enqueued runs, and the message where that does not hold."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from fencepost.executors.binding import plain_payload
from fencepost.model.identifiers import JobName, RunKey, job_key
from fencepost.model.json import JsonObject
from fencepost.model.run import RunRecord, RunState
from fencepost.model.times import read_time, to_utc_text

SHOWN_MAX = 20


@dataclass(frozen=True)
class Wanted:
    """An enqueued run as a test describes it; fields that are None are not compared."""

    job: JobName
    run_key: RunKey | None
    payload: JsonObject
    at: datetime | None
    state: RunState | None

    @classmethod
    def of(
        cls,
        job: JobName,
        key: str | None,
        payload: Mapping[str, Any] | None,
        at: datetime | str | None,
        state: str | None,
    ) -> Wanted:
        """From the words of a test."""
        return cls(
            job,
            None if key is None else job_key(job, key),
            plain_payload(dict(payload or {})),
            None if at is None else read_time(at, UTC),
            None if state is None else RunState(state),
        )

    def fits(self, run: RunRecord) -> bool:
        """Whether a run is one of those."""
        return (
            run.schedule_id is None
            and run.job == self.job
            and self.run_key in (None, run.run_key)
            and self.at in (None, run.fire_time)
            and self.state in (None, run.state)
            and all(name in run.payload and run.payload[name] == self.payload[name] for name in self.payload)
        )

    def __str__(self) -> str:
        said = [f"job {self.job}"]
        if self.run_key is not None:
            said.append(f"key {self.run_key}")
        if self.payload:
            said.append(f"payload {json.dumps(self.payload)}")
        if self.at is not None:
            said.append(f"at {to_utc_text(self.at)}")
        if self.state is not None:
            said.append(f"state {self.state}")
        return ", ".join(said)


def complaint(wanted: Wanted, runs: Sequence[RunRecord], count: int | None) -> str | None:
    """What does not hold, with what there is instead; None where it holds."""
    found = sum(wanted.fits(run) for run in runs)
    if found == count or (count is None and found):
        return None
    expected = "at least one" if count is None else "none" if count == 0 else str(count)
    return f"enqueued runs of {wanted}: expected {expected}, found {found}; {_there(wanted, runs)}"


def _there(wanted: Wanted, runs: Sequence[RunRecord]) -> str:
    by_hand = [run for run in runs if run.schedule_id is None]
    if not by_hand:
        return f"no run of {wanted.job} was enqueued"
    lines = [_line(run, wanted.fits(run)) for run in by_hand[:SHOWN_MAX]]
    more = len(by_hand) - len(lines)
    tail = [f"  and {more} more"] if more else []
    return "\n".join([f"of {wanted.job} there are:", *lines, *tail])


def _line(run: RunRecord, fits: bool) -> str:
    mark = "*" if fits else " "
    return f"{mark} {run.run_key}  {run.state}  at {to_utc_text(run.fire_time)}  {json.dumps(run.payload)}"
