"""The clock by which a node times its trust: nobody can set it, and it does not sleep with the machine."""

from __future__ import annotations

import time

import pytest

from fencepost.clock import SystemClock

FAR_S = 60.0


def test_the_monotonic_clock_is_not_the_one_that_people_set() -> None:
    clock = SystemClock()
    assert abs(clock.monotonic() - clock.wall().timestamp()) > FAR_S


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="this platform has no such clock")
def test_the_monotonic_clock_does_not_stand_still_while_the_machine_is_suspended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A machine that was suspended for an hour: only one of its clocks has counted it."""
    after_a_sleep = {time.CLOCK_MONOTONIC: 100.0, time.CLOCK_BOOTTIME: 3700.0}
    monkeypatch.setattr(time, "clock_gettime", after_a_sleep.__getitem__)
    assert SystemClock().monotonic() == 3700.0
