"""A small shop: orders come in, receipts go out, and every night the day is closed."""

from dataclasses import dataclass, field

from fencepost import CatchUp, Cron, Fencepost, Retry, Run

app = Fencepost()


@dataclass
class Outside:
    """What the shop reaches: the mail server and the books."""

    mails: list[str] = field(default_factory=list)
    closed_days: list[str] = field(default_factory=list)
    mail_is_down: bool = False


outside = Outside()


@app.job(retry=Retry(max_attempts=5, base="1m", cap="1h"))
async def send_receipt(run: Run, customer: str, amount: int) -> None:
    if outside.mail_is_down:
        raise ConnectionError("the mail server is away")
    outside.mails.append(f"{customer}: {amount}")


@app.job(schedule=Cron("0 2 * * *", tz="Europe/Berlin"), catch_up=CatchUp("sequential", max_lateness="2d"))
def close_the_day(run: Run) -> str:
    day = f"{run.fire_time:%Y-%m-%d}"
    outside.closed_days.append(day)
    return f"closed {day}"


@app.job()
def archive(run: Run, day: str) -> None:
    """Would copy the day to another machine."""
    raise RuntimeError("not from a test")


async def sell(customer: str, amount: int) -> None:
    """What the web page calls."""
    await app.enqueue(send_receipt, customer=customer, amount=amount, key=f"{customer}-{amount}")
