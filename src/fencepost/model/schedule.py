"""A schedule: the intent to run a job at certain times, and its versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from enum import StrEnum
from typing import Literal, TypeAlias

from fencepost.errors import InvalidSpec
from fencepost.model.clocks import StoreTime
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import JobName, Namespace, Queue, ScheduleId, Shard, checked_name
from fencepost.model.job import PRIORITIES
from fencepost.model.json import JsonObject
from fencepost.model.policies import CatchUp, Overlap
from fencepost.model.quoting import quoted
from fencepost.model.stretch import Stretch


class Absent(StrEnum):
    """What happens to a schedule that code made, once no running code has it any more."""

    KEEP = "keep"
    """It goes on, and there is a warning."""
    PAUSE = "pause"
    REMOVE = "remove"


AbsentWord: TypeAlias = Literal["keep", "pause", "remove"]
"""The words that a type checker accepts in code."""


def parse_absent(value: str) -> Absent:
    """From the word people use."""
    try:
        return Absent(value)
    except ValueError:
        raise InvalidSpec(f"absent {quoted(value)}: expected {' or '.join(Absent)}") from None


@dataclass(frozen=True)
class ScheduleSpec:
    """All that a version of a schedule says.

    `trigger` is the trigger's stable JSON form. `spread` is the stretch within which the schedule starts at
    an offset of its own, `jitter` the stretch within which each tick starts at random; neither moves a fire
    time. `calendars` are the named calendars that the trigger needs, as they were when the version was
    written: so the version means the same for ever, whatever happens to the calendars.
    """

    job: JobName
    trigger: JsonObject
    payload: JsonObject = field(default_factory=dict)
    overlap: Overlap = Overlap.SKIP
    catch_up: CatchUp = field(default_factory=CatchUp)
    queue: Queue | None = None
    priority: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    spread: Stretch | None = None
    jitter: Stretch | None = None
    calendars: Mapping[str, JsonObject] = field(default_factory=dict)
    absent: Absent = Absent.KEEP

    def __post_init__(self) -> None:
        checked_name("job", self.job)
        if self.priority is not None and self.priority not in PRIORITIES:
            raise InvalidSpec(f"priority {self.priority}: expected one of {PRIORITIES}")


class ScheduleState(StrEnum):
    """Whether a schedule plans."""

    ACTIVE = "active"
    PAUSED = "paused"
    REMOVED = "removed"


@dataclass(frozen=True)
class Schedule:
    """A schedule as the store holds it. `code_spec` is the spec that an application last applied."""

    namespace: Namespace
    schedule_id: ScheduleId
    shard: Shard
    version: int
    state: ScheduleState
    spec: ScheduleSpec
    planned_through: datetime
    updated_at: StoreTime
    code_spec: ScheduleSpec | None = None
    code_digest: str | None = None
    frozen: bool = False


@dataclass(frozen=True, slots=True)
class DesiredSchedule:
    """A schedule as it should be. `expected_version` is the version that is there, 0 where none is, None for
    any; `code_spec` is the spec as an application's code has it."""

    schedule_id: ScheduleId
    spec: ScheduleSpec
    expected_version: int | None = None
    code_spec: ScheduleSpec | None = None


class ScheduleChange(StrEnum):
    """What happened to a desired schedule."""

    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class AppliedSchedule:
    """A schedule after it was written, and its version before; 0 where it was not there."""

    schedule: Schedule
    version_before: int

    @property
    def change(self) -> ScheduleChange:
        if self.version_before == self.schedule.version:
            return ScheduleChange.UNCHANGED
        return ScheduleChange.CHANGED if self.version_before else ScheduleChange.CREATED


@dataclass(frozen=True)
class ScheduleVersion:
    """One entry of a schedule's history: it governs the fire times in (in_force_from, in_force_until]."""

    version: int
    spec: ScheduleSpec
    in_force_from: StoreTime
    tzdata: str
    in_force_until: StoreTime | None = None


@dataclass(frozen=True, slots=True)
class ScheduleFilter:
    """Which schedules to list, by id; `after` is the last one of the page before. Removed ones are listed
    only where `state` asks for them."""

    text: str | None = None
    """Only schedules whose id or job contains this."""
    state: ScheduleState | None = None
    job: JobName | None = None
    label: str | None = None
    """`key=value`, or only the key, whatever its value."""
    frozen: bool | None = None
    after: ScheduleId | None = None
    limit: int = 50

    @property
    def label_terms(self) -> tuple[str | None, str | None]:
        """The key and the value of the label in the filter."""
        if self.label is None:
            return None, None
        key, equals, value = self.label.partition("=")
        return key, value if equals else None
