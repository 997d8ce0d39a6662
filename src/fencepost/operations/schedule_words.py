"""What a schedule is, in the words of `fencepost.toml`, as a document.

A word that is left out says nothing: a new schedule has the usual, an edited one keeps what it had. Where a
word can be taken away again, null and `none` both do that.

One thing is said otherwise than in the file: `anchor` is where a rule begins to count as well as an interval,
and `start` is always the first time at which something may fire.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from fencepost.model.job import PRIORITY_FIRST, PRIORITY_LAST
from fencepost.model.policies import OF_LAST_MAX, OVERLAP_WORDS, WAITING_MAX
from fencepost.operations.operation import Reason, Request
from fencepost.operations.words import INTEGER_MAX, Name, Text, Word

CRON_LENGTH_MAX = 512
RULE_LENGTH_MAX = 10_000
TIMES_MAX = 1_000
DAY_TIMES_MAX = 24 * 60
WINDOWS_MAX = 20
LABELS_MAX = 64
NIGHTLY = {
    "job": "backup",
    "cron": "30 2 * * *",
    "tz": "Europe/Berlin",
    "dst": {"gap": "shift", "fold": "first"},
    "overlap": "skip",
    "catch_up": {"mode": "latest", "max_lateness": "6h"},
    "spread": "5m",
    "payload": {"target": "eu"},
    "labels": {"team": "ops"},
}
"""An example, for the document of the API."""
NONE = "none"

Absent: TypeAlias = UnsetType
Time: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=64,
        description="An instant, or a wall time in `tz`.",
        examples=["2026-12-24T18:00:00"],
    ),
]
Length: TypeAlias = (
    Annotated[str, Meta(min_length=1, max_length=64, examples=["90s", "1h30m"])]
    | Annotated[float, Meta(ge=0, description="In seconds.")]
)
Stretch: TypeAlias = (
    Annotated[str, Meta(min_length=1, max_length=64, examples=["10m", "50%"])]
    | Annotated[float, Meta(ge=0, description="In seconds.")]
)
DayTime: TypeAlias = Annotated[str, Meta(min_length=1, max_length=16, examples=["18:00"])]


class Part(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of what is asked."""


class DstWords(Part, frozen=True, kw_only=True):
    """What happens when the clocks change."""

    gap: Annotated[Literal["shift", "skip"] | Absent, Meta(description="When the clocks skip the time.")] = (
        UNSET
    )
    fold: Annotated[
        Literal["first", "last", "both"] | Absent, Meta(description="When the clocks show the time twice.")
    ] = UNSET


class PlainWords(Request, frozen=True, kw_only=True):
    """A plain trigger: exactly one of `cron`, `every`, `at`, `rrule` and `business_day`, and what goes with
    it."""

    cron: (
        Annotated[
            str,
            Meta(
                max_length=CRON_LENGTH_MAX,
                description="Fire by a cron expression; an H is hashed by the id.",
                examples=["30 2 * * *"],
            ),
        ]
        | Absent
    ) = UNSET
    every: Annotated[
        Length | Absent, Meta(description="Fire at an exact interval (15m), or by the calendar (1 month).")
    ] = UNSET
    at: Annotated[
        Time | Annotated[list[Time], Meta(min_length=1, max_length=TIMES_MAX)] | Absent,
        Meta(description="Fire at this time."),
    ] = UNSET
    rrule: (
        Annotated[
            str,
            Meta(
                max_length=RULE_LENGTH_MAX,
                description="Fire by an iCalendar rule, such as FREQ=MONTHLY;BYDAY=-1FR.",
                examples=["FREQ=MONTHLY;BYDAY=-1FR"],
            ),
        ]
        | Absent
    ) = UNSET
    business_day: Annotated[
        int | Literal["every"] | Absent,
        Meta(description="Fire on the nth business day of a month, -1 the last, or every.", examples=[-1]),
    ] = UNSET
    time: Annotated[
        DayTime | Annotated[list[DayTime], Meta(min_length=1, max_length=DAY_TIMES_MAX)] | Absent,
        Meta(description="The time of `business_day`."),
    ] = UNSET
    calendar: Annotated[Name | Absent, Meta(description="The business days that count.")] = UNSET
    on_business_days: Annotated[
        Literal["next", "previous", "skip", "none"] | Absent | None,
        Meta(description="Move times on other days to the next or previous business day, or skip them."),
    ] = UNSET
    tz: Annotated[
        Word | Absent,
        Meta(description="The zone of wall times; UTC unless given.", examples=["Europe/Berlin"]),
    ] = UNSET
    dst: DstWords | Absent = UNSET
    anchor: Annotated[
        Time | Absent, Meta(description="Where `every` or `rrule` begins to count; 1970 unless given.")
    ] = UNSET


class WindowWords(PlainWords, frozen=True, kw_only=True):
    """A stretch of time from each time on at which its trigger fires."""

    lasts: Length


class GateWords(Part, frozen=True, kw_only=True):
    """When catch-up is held back for a person; what is left out is as usual."""

    waiting_max: Annotated[int, Meta(ge=1, le=WAITING_MAX)] | Absent = UNSET
    failed_share: Annotated[float, Meta(ge=0, le=1)] | Absent = UNSET
    of_last: Annotated[int, Meta(ge=1, le=OF_LAST_MAX)] | Absent = UNSET


class CatchUpWords(Part, frozen=True, kw_only=True):
    """Of ticks that are late: which run, and how late."""

    mode: Annotated[
        Word | Absent,
        Meta(
            description="Of ticks that are late, run: none, latest, sequential (one by one) or parallel(n).",
            examples=["latest"],
        ),
    ] = UNSET
    max_lateness: Annotated[Length | Absent, Meta(description="How late a tick may start.")] = UNSET
    gate: Annotated[
        GateWords | Literal["none"] | Absent | None,
        Meta(
            description="When catch-up is held back for a person: waiting_max, failed_share, of_last; "
            "none: the usual terms."
        ),
    ] = UNSET


class ScheduleWords(PlainWords, frozen=True, kw_only=True):
    """All that can be said of a schedule."""

    job: Annotated[Name | Absent, Meta(description="What runs: a job that some process has registered.")] = (
        UNSET
    )
    trigger: Annotated[
        dict[str, Any] | Absent,
        Meta(description="All of the trigger in its stable form, in place of the words for it."),
    ] = UNSET
    start: Annotated[
        Time | Absent | None, Meta(description="Fire from this time on; none takes it away.")
    ] = UNSET
    end: Annotated[Time | Absent | None, Meta(description="Fire before this time; none takes it away.")] = (
        UNSET
    )
    outside: Annotated[
        Annotated[list[WindowWords], Meta(max_length=WINDOWS_MAX)] | Absent | None,
        Meta(description="Windows in which nothing fires."),
    ] = UNSET
    max_runs: Annotated[
        Annotated[int, Meta(ge=1, le=INTEGER_MAX)] | Literal["none"] | Absent | None,
        Meta(description="Fire so many times from `start` or now on; none takes it away."),
    ] = UNSET
    spread: Annotated[
        Stretch | Absent | None,
        Meta(description="Start within 10m or 50% of the period, by the id; none: at once."),
    ] = UNSET
    jitter: Annotated[
        Stretch | Absent | None,
        Meta(description="Start each tick within 30s or 10%, by a hash of it; none: at once."),
    ] = UNSET
    overlap: Annotated[
        Word | Absent, Meta(description=f"While an earlier run is unfinished: {OVERLAP_WORDS}.")
    ] = UNSET
    catch_up: Annotated[Word | CatchUpWords | Absent, Meta(description="A mode, or more than that.")] = UNSET
    payload: Annotated[
        dict[str, Any] | Absent | None, Meta(description="What the job is given: a JSON object, all of it.")
    ] = UNSET
    queue: Annotated[Name | Absent | None, Meta(description="Another queue than the job's own.")] = UNSET
    priority: Annotated[
        Annotated[int, Meta(ge=PRIORITY_FIRST, le=PRIORITY_LAST)] | Absent | None,
        Meta(description="1 (first) to 4 (last), instead of the job's own."),
    ] = UNSET
    labels: (
        Annotated[
            dict[Word, Text | None],
            Meta(max_length=LABELS_MAX, description="A label; an edit takes one without a value away."),
        ]
        | Absent
    ) = UNSET
    reason: Reason | None = None

    @property
    def nothing(self) -> bool:
        """Whether no word was given at all."""
        return all(
            getattr(self, name) is UNSET for name in ScheduleWords.__struct_fields__ if name != "reason"
        )
