"""Jobs that are sent as messages, and messages that become runs. In this folder: `fencepost run shop:app`."""

from contextlib import suppress

from fencepost import Every, Fencepost, Retry, Run
from fencepost.errors import UnknownSchedule

app = Fencepost("sqlite:///shop.db")

app.message_job("order-placed", destination="shop.events", parameters={"order": "integer"})

app.message_job(
    "thumbs",
    reply="result",
    start_within="10m",
    parameters={"image": "integer", "takes_s": "number?", "busy_until": "integer?"},
    timeout="2m",
    retry=Retry(max_attempts=3, base="1s", cap="10s"),
)


@app.message_job("invoice", destination="shop.invoices", reply="result", timeout="1m")
def invoice(run: Run, order: int) -> dict[str, object]:
    return {"order": order, "number": f"2026-{order:05}", "fence": run.fence}


@app.on_message("shop.orders", key="order")
async def take_order(run: Run, order: int) -> None:
    """Body: {"order": 7}. The order is taken and its invoice is asked for, together or not at all."""
    async with run.transaction() as tx:
        await tx.execute("create table if not exists orders (number bigint primary key)")
        await tx.execute("insert into orders (number) values (%s)", (order,))
        await app.enqueue("invoice", key=str(order), connection=tx, order=order)


@app.job()
async def report(run: Run, customer: str) -> None: ...


@app.on_message("shop.subscriptions")
async def subscribe(run: Run, customer: str, period: str | None = None) -> None:
    """Body: {"customer": "anna", "period": "1h"}, or without a period to end the subscription."""
    name = f"report-{customer}"
    async with run.transaction() as tx:
        schedules = app.schedules.within(tx)
        if period is None:
            with suppress(UnknownSchedule):
                await schedules.remove(name)
        else:
            words = {"job": "report", "trigger": Every(period), "payload": {"customer": customer}}
            await schedules.add_many([(name, words)])
