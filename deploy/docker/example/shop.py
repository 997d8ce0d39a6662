"""The application of the example image."""

from fencepost import Every, Fencepost, Run

app = Fencepost()


@app.job(schedule=Every("10s"))
def count_stock(run: Run) -> str:
    """Return a sentence, which the ledger keeps."""
    return f"counted for {run.fire_time}"
