"""The application of the drill, for programs of either version: ten ticks a second, each leaves a row."""

from __future__ import annotations

from fencepost import CatchUp, Every, Fencepost, Retry, Run

SCHEDULES = 10

app = Fencepost(
    horizon_s=20,
    plan_every_s=1,
    lease_ttl_s=5,
    lease_renew_deadline_s=3,
    lease_retry_period_s=1,
    heartbeat_every_s=1,
    heartbeat_timeout_s=6,
    grace_s=10,
)


@app.job(retry=Retry(5, "100ms", "1s"))
async def tick(run: Run) -> None:
    async with run.transaction() as tx:
        await tx.execute("insert into effects (run_key) values (%s)", (run.key,))


for number in range(SCHEDULES):
    app.add_schedule(
        f"tick-{number}", job=tick, trigger=Every("1s"), overlap="allow", catch_up=CatchUp("sequential", "5m")
    )
