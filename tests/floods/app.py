"""The application under the floods: one tick a second."""

from __future__ import annotations

from fencepost import CatchUp, Every, Fencepost, Run

app = Fencepost()


@app.job()
async def tick(run: Run) -> None:
    return None


app.add_schedule("tick", job=tick, trigger=Every("1s"), overlap="allow", catch_up=CatchUp("none", "1m"))
