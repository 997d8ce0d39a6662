"""What a world has to do, drawn from its seed: when it begins, at which pace it lives, and its schedules."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from fencepost.config import Settings
from fencepost.model.identifiers import ScheduleId
from fencepost.model.policies import CatchUp, GateTerms, parse_overlap
from fencepost.model.schedule import ScheduleSpec
from fencepost.model.stretch import parse_stretch
from fencepost.triggers import At, Combinable, Cron, Every
from tests.simulation.jobs import NAMES, QUICK

TEAMS = ("red", "blue")
SCHEDULES = 16
LOSING_SHARE = 0.1
DEPLOYED = 3
"""So many of them come with the code, in two releases."""

CHANGES = [
    (datetime(2026, 3, 29, 1, tzinfo=UTC), "Europe/Berlin"),
    (datetime(2026, 10, 25, 1, tzinfo=UTC), "Europe/London"),
    (datetime(2026, 3, 8, 7, tzinfo=UTC), "America/New_York"),
    (datetime(2026, 11, 1, 6, tzinfo=UTC), "America/New_York"),
    (datetime(2026, 4, 4, 15, tzinfo=UTC), "Australia/Lord_Howe"),
    (datetime(2026, 10, 3, 15, 30, tzinfo=UTC), "Australia/Lord_Howe"),
    (datetime(2026, 6, 10, 12, tzinfo=UTC), "Asia/Kolkata"),
]
"""When clocks change, and where; the last one is a day without."""

OVERLAPS = [
    parse_overlap(text)
    for text in (
        "skip",
        "skip",
        "allow",
        "allow(2)",
        "buffer_one",
        "buffer_all(5)",
        "cancel_other",
        "terminate_other",
    )
]
GATE = GateTerms(waiting_max=15, failed_share=0.2, of_last=3)


@dataclass(frozen=True)
class Terms:
    """How a world lives. At a pace of two all terms, periods and durations are twice as long."""

    start: datetime
    zone: str
    pace: int
    loses_writes: bool
    """Whether the ledger has an asynchronous standby, which takes over now and then."""
    settings: Settings

    def s(self, seconds: float) -> float:
        return seconds * self.pace


def draw_terms(dice: random.Random, paces: Sequence[int]) -> Terms:
    """Half an hour or more before the clocks change."""
    change, zone = dice.choice(CHANGES)
    pace = dice.choice(paces)
    settings = Settings(
        horizon_s=60 * pace,
        plan_every_s=5 * pace,
        lease_ttl_s=10 * pace,
        lease_renew_deadline_s=6 * pace,
        lease_retry_period_s=3 * pace,
        lease_margin_s=pace,
        poll_s=5 * pace,
        heartbeat_every_s=5 * pace,
        heartbeat_timeout_s=20 * pace,
        reap_every_s=5 * pace,
        tidy_every_s=60 * pace,
        retention_s=3600,
        concurrency=200,
        grace_s=5 * pace,
    )
    start = change - timedelta(seconds=dice.randint(1800, 5400))
    return Terms(start, zone, pace, dice.random() < LOSING_SHARE, settings)


class Workload:
    """Draws specs."""

    def __init__(self, terms: Terms, dice: random.Random) -> None:
        self._terms = terms
        self._dice = dice
        self.ids = [ScheduleId(f"schedule-{number}") for number in range(SCHEDULES)]
        self.releases = [self._release(), self._release()]

    def beat(self) -> ScheduleSpec:
        """The schedule that ticks most often."""
        return ScheduleSpec(QUICK, Every(self._terms.s(2)).to_json(), catch_up=self._catch_ups()[0])

    def spec(self) -> ScheduleSpec:
        dice = self._dice
        return ScheduleSpec(
            job=dice.choice(NAMES),
            trigger=self._trigger().to_json(),
            overlap=dice.choice(OVERLAPS),
            catch_up=dice.choice(self._catch_ups()),
            labels={"team": dice.choice(TEAMS)},
            spread=parse_stretch(f"{self._terms.pace * 2}s") if dice.random() < 0.1 else None,
            jitter=parse_stretch(f"{self._terms.pace}s") if dice.random() < 0.1 else None,
        )

    def _release(self) -> dict[ScheduleId, ScheduleSpec]:
        return {ScheduleId(f"deployed-{number}"): self.spec() for number in range(DEPLOYED)}

    def _trigger(self) -> Combinable:
        kinds: list[Callable[[], Combinable]] = [
            self._often,
            self._seldom,
            self._seldom,
            self._minutely,
            self._at_the_change,
            self._in_seconds,
            self._at_times,
            lambda: self._seldom() | self._at_the_change(),
            self._with_gaps,
        ]
        return self._dice.choice(kinds)()

    def _often(self) -> Every:
        return Every(self._terms.s(self._dice.randint(5, 30)))

    def _seldom(self) -> Every:
        return Every(self._terms.s(self._dice.randint(30, 300)))

    def _with_gaps(self) -> Combinable:
        """One in so many is left out."""
        every_s = self._terms.s(self._dice.randint(30, 150))
        return Every(every_s) - Every(every_s * self._dice.randint(2, 4))

    def _minutely(self) -> Cron:
        return Cron(f"{self._dice.choice(['*', '*/2', 'H/5'])} * * * *", tz=self._terms.zone)

    def _at_the_change(self) -> Cron:
        """A fixed time in the small hours, where clocks change."""
        return Cron(f"{self._dice.randint(0, 59)} {self._dice.randint(1, 3)} * * *", tz=self._terms.zone)

    def _in_seconds(self) -> Cron:
        step = self._dice.randint(20, 30)
        return Cron(f"*/{step} */{self._terms.pace} * * * *", tz=self._terms.zone)

    def _at_times(self) -> At:
        ahead = [timedelta(seconds=self._dice.randint(0, 6 * 3600)) for _ in range(20)]
        return At([self._terms.start + one for one in ahead])

    def _catch_ups(self) -> list[CatchUp]:
        s = self._terms.s
        return [
            CatchUp("none", f"{s(20):g}s"),
            CatchUp("none"),
            CatchUp("latest", f"{s(600):g}s"),
            CatchUp("sequential", f"{s(120):g}s", GATE),
            CatchUp("parallel(3)", f"{s(120):g}s", GATE),
        ]
