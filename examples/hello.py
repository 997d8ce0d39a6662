"""The smallest application. In this folder: `fencepost run hello:app`."""

from fencepost import Every, Fencepost, Run

app = Fencepost()


@app.job(schedule=Every("5s"))
def hello(run: Run) -> None:
    print(f"hello from {run.key}, attempt {run.attempt}, fence {run.fence}", flush=True)
