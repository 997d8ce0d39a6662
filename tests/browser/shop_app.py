"""The application behind the pages: jobs that succeed, fail, take their time, log and take a payload."""

from __future__ import annotations

import asyncio

from fencepost import CatchUp, Cron, Every, Fencepost, GateTerms, PermanentFailure, Retry, Run

SLOW_S = 600.0

app = Fencepost(horizon_s=20, plan_every_s=1, heartbeat_every_s=1, reap_every_s=1)


@app.job()
async def greet(run: Run, name: str = "world") -> str:
    run.log(f"the letter to {name} is on its way")
    return f"greeted {name}"


@app.job(retry=Retry(1))
async def burn(run: Run, what: str = "toast") -> None:
    run.log(f"the {what} smells")
    raise PermanentFailure(f"the {what} is on fire")


@app.job()
async def slow(run: Run) -> None:
    run.log("this takes a while")
    run.heartbeat(progress="10 of 100")
    await asyncio.sleep(SLOW_S)


app.add_schedule("letters", job=greet, trigger=Every("2s"), labels={"team": "post"}, overlap="allow")
app.add_schedule(
    "nightly/eu", job=greet, trigger=Cron("30 2 * * *", tz="Europe/Berlin"), payload={"name": "Europe"}
)
app.add_schedule(
    "parcels",
    job=greet,
    trigger=Every("1s"),
    labels={"team": "post"},
    catch_up=CatchUp("sequential", "1h", GateTerms(waiting_max=1)),
)
