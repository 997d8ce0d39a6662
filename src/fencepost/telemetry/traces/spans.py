"""What a span is to say, without a word of OpenTelemetry: drawn here, sent by `tracing.py`.

Names of attributes are those of the semantic conventions for messaging and for functions where they fit; what
only this house has is under `fencepost.`. No payload, result or log line is ever part of a span.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from enum import Enum, auto
from typing import Protocol, TypeAlias

from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Epoch, Fence, JobName, Namespace, Queue, RunKey, ScheduleId
from fencepost.model.times import to_utc_text
from fencepost.telemetry.traces.ids import SpanName

SYSTEM = "fencepost"
Attributes: TypeAlias = Mapping[str, str | int]


class Side(Enum):
    """Which side of the queue a span is on."""

    SENDS = auto()
    RECEIVES = auto()
    WITHIN = auto()


@dataclass(frozen=True, slots=True)
class Fault:
    """What went wrong in a span: in words, and with its traceback where there is one."""

    error: str
    detail: str | None = None
    raised: bool = True
    """Whether the work raised it; otherwise only the span's status tells it."""

    @property
    def kind(self) -> str:
        """The error's class, where the text begins with one."""
        name = self.error.partition(":")[0]
        return name if name.isidentifier() else "error"


@dataclass(frozen=True, slots=True)
class Drawing:
    """One span. A moment of None is the present one."""

    name: SpanName
    verb: str
    of: str
    side: Side = Side.WITHIN
    start: datetime | None = None
    end: datetime | None = None
    attributes: Attributes = field(default_factory=dict)
    fault: Fault | None = None

    @property
    def title(self) -> str:
        """Few and plain: what is done, and of which job."""
        return f"{self.verb} {self.of}"


class Tried(Protocol):
    """A run that has been claimed at least once: a claim of it, or its row in the ledger."""

    @property
    def namespace(self) -> Namespace: ...
    @property
    def run_key(self) -> RunKey: ...
    @property
    def schedule_id(self) -> ScheduleId | None: ...
    @property
    def job(self) -> JobName: ...
    @property
    def fire_time(self) -> datetime: ...
    @property
    def version(self) -> int: ...
    @property
    def attempt(self) -> int: ...
    @property
    def fence(self) -> Fence: ...
    @property
    def epoch(self) -> Epoch: ...
    @property
    def queue(self) -> Queue: ...
    @property
    def run_at(self) -> datetime: ...
    @property
    def started_at(self) -> datetime | None: ...
    @property
    def first_started_at(self) -> datetime | None: ...
    @property
    def attempts_before_replay(self) -> int: ...


def about_run(run: Tried) -> dict[str, str | int]:
    """What every span of a claimed run says."""
    said = about(run.namespace, run.run_key, run.job, run.schedule_id, run.queue)
    said |= {"fencepost.fire_time": to_utc_text(run.fire_time), "fencepost.epoch": run.epoch}
    return said if run.schedule_id is None else said | {"fencepost.version": run.version}


def about_attempt(run: Tried, worker: str | None) -> dict[str, str | int]:
    """What a span of one attempt says besides."""
    said = about_run(run) | {"fencepost.attempt": run.attempt, "fencepost.fence": run.fence}
    return said if worker is None else said | {"fencepost.worker": worker}


def about(
    namespace: str, run_key: str, job: str, schedule_id: str | None, queue: str | None
) -> dict[str, str | int]:
    """What every span says."""
    said: dict[str, str | int] = {
        "messaging.system": SYSTEM,
        "messaging.message.id": run_key,
        "faas.trigger": "other" if schedule_id is None else "timer",
        "fencepost.namespace": namespace,
        "fencepost.run_key": run_key,
        "fencepost.job": job,
    }
    if schedule_id is not None:
        said["fencepost.schedule_id"] = schedule_id
    if queue is not None:
        said["messaging.destination.name"] = queue
    return said


def does(kind: str, name: str) -> dict[str, str | int]:
    """The step of a message's life that a span is: `create`, `receive` or `process`."""
    return {"messaging.operation.type": kind, "messaging.operation.name": name}
