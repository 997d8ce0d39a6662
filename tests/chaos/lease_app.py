"""The applications of the lease drills: twenty ticks a second, under short terms and under the defaults."""

from __future__ import annotations

from typing import Any

from fencepost import CatchUp, Every, Fencepost, Run

TICKING = 20
PREFIX = "tick-"


def make(**settings: Any) -> Fencepost:
    """Jobs that do nothing, every second."""
    made = Fencepost(**settings)

    @made.job()
    async def tick(run: Run) -> None:
        return None

    for number in range(TICKING):
        made.add_schedule(
            f"{PREFIX}{number}",
            job=tick,
            trigger=Every("1s"),
            overlap="allow",
            catch_up=CatchUp("none", "1m"),
        )
    return made


app = make(
    horizon_s=45,
    plan_every_s=2,
    lease_ttl_s=5,
    lease_renew_deadline_s=3,
    lease_retry_period_s=1,
    lease_margin_s=1,
)
default_app = make()
