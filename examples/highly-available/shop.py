"""What the fleet runs. It has no schedules: they are made over HTTP."""

from fencepost import Fencepost, Run

app = Fencepost()


@app.job()
async def report(run: Run, about: str = "nothing") -> None:
    """Say what was done. On one host all workers write to the same terminal."""
    print(f"report on {about} of {run.fire_time:%H:%M:%S}, fence {run.fence}", flush=True)
