"""The clock watch: whether this node believes what the store's clock shows (`core.clock_leaps`)."""

from __future__ import annotations

from fencepost.config import Settings
from fencepost.core.clock_leaps import HOLD_SHARE, Reading, leap_s
from fencepost.model.clocks import Monotonic, elapsed_s
from fencepost.telemetry.events import ClockSetAhead, emit
from fencepost.telemetry.logs import Log

TOLD_FOR_S = 3600.0


class ClockWatch:
    """The clock watch of one node. It logs a leap when it finds it, and reports it for an hour. With a
    `hold_s` of zero it finds none: the process has no clock of its own."""

    def __init__(self, settings: Settings) -> None:
        self.hold_s = settings.horizon_s * HOLD_SHARE
        self._log = Log("clock")
        self._believed: Reading | None = None
        self._leapt_at: Monotonic | None = None
        self._found: tuple[Monotonic, float] | None = None

    def believes(self, reading: Reading) -> bool:
        """Whether the store's clock did not leap ahead, or has stayed there for long enough."""
        by_s = leap_s(self._believed, reading) if self.hold_s and self._believed is not None else 0.0
        if by_s and self._leapt_at is None:
            self._tell(reading.after, by_s)
        if by_s and self._leapt_at is not None and elapsed_s(self._leapt_at, reading.after) < self.hold_s:
            return False
        if self._leapt_at is not None:
            self._log.info("the clock of the store is followed again", ahead_s=round(by_s, 1))
        self._believed, self._leapt_at = reading, None
        return True

    def set_ahead_s(self, at: Monotonic) -> float:
        """By how much the store's clock was set ahead within the last hour."""
        recent = self._found is not None and elapsed_s(self._found[0], at) < TOLD_FOR_S
        return self._found[1] if self._found is not None and recent else 0.0

    def _tell(self, at: Monotonic, by_s: float) -> None:
        self._leapt_at, self._found = at, (at, by_s)
        emit(ClockSetAhead(by_s))
        self._log.warning(
            "the clock of the store was set ahead",
            by_s=round(by_s, 1),
            why=f"nothing new is planned for {self.hold_s:g} s, or until it is set right",
            remedy="have NTP keep the time of its host, by slewing",
        )
