"""Right calls and wrong ones, for a type checker: it must refuse each line that ends with `# WRONG`, and no
other."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from fencepost import CatchUp, Every, Fencepost, Overlap, Retry, Run, Unique

app = Fencepost()


@dataclass
class Order:
    number: int


@app.job()
def resize(run: Run, image_id: int, width: int = 800) -> str:
    return f"{image_id} {width}"


@app.job("ship", queue="images", delivery="at_most_once")
async def ship(run: Run, order: Order) -> Order:
    return order


@app.job()
def plain(key: str, *, at: datetime | None = None) -> int:
    return len(key)


@app.job()
async def nothing() -> None:
    return None


@app.job(schedule=Every("1h"), overlap="buffer_one", catch_up="latest")
def hourly() -> None: ...


@app.job(schedule=Every("1h"), overlap=Overlap.allow(3), catch_up=CatchUp("parallel(2)"))
def often() -> None: ...


@app.job(after=resize, after_on="failure", absent="pause", retry_window="cap", retry=Retry(backoff="linear"))
def afterwards() -> None: ...


@app.on("dead", "missed", jobs=[resize])
def told(notice: dict[str, object]) -> None: ...


async def right(run: Run) -> None:
    handle = await resize.enqueue(image_id=7)
    text: str = await handle.result(timeout=30)
    number: int = plain.delay("a", at=datetime.now(UTC)).result("30s")
    order: Order = await (await ship.enqueue(order=Order(1))).result()
    await nothing.enqueue()
    many = await resize.options(queue="images", priority=1, delay="5m").enqueue_many([{"image_id": 1}])
    first: str = await many[0].result()
    again: str = resize.options(key="k", at=datetime.now(UTC)).delay(7, width=9).result()
    once = resize.options(unique="unfinished", expires="10m").delay(7)
    named = resize.options(unique=Unique("1h", name="a"), expires=datetime.now(UTC)).delay(7)
    by_key: str = await resize.handle("k").result()
    called: str = resize(run, 7)
    shipped: Order = await ship(run, order)
    hourly()
    await app.enqueue(resize, image_id=7, key="k")
    await app.enqueue_many(resize, [{"image_id": 7}], ["k"], queue="images", priority=1, delay="5m")
    await app.enqueue_many("resize", ({"image_id": one} for one in (1, 2)), unique="1h", expires="2h")
    print(text, number, first, again, by_key, called, shipped, handle.created, once.key, named.key)  # noqa: T201


async def wrong(run: Run) -> None:
    await resize.enqueue(image_id="seven")  # WRONG
    await resize.enqueue(imageid=7)  # WRONG
    await resize.enqueue()  # WRONG
    await resize.enqueue(image_id=7, height=1)  # WRONG
    await resize.enqueue(run, image_id=7)  # WRONG
    await ship.enqueue(order=7)  # WRONG
    await nothing.enqueue(1)  # WRONG
    resize.delay(image_id=None)  # WRONG
    plain.delay(key=1)  # WRONG
    number: int = await (await resize.enqueue(image_id=7)).result()  # WRONG
    text: str = plain.delay("a").result()  # WRONG
    resize.options(queue=1)  # WRONG
    resize.options(priority="high")  # WRONG
    resize.options(delays="5m")  # WRONG
    resize.options(at="tomorrow")  # WRONG
    resize.options(unique=7)  # WRONG
    resize.options(expires=[])  # WRONG
    app.job(retry=3)  # WRONG
    app.job(after=7)  # WRONG
    resize.options(key="k").delay(image="x")  # WRONG
    await resize.delay(image_id=7)  # WRONG
    resize.enqueue(image_id=7)  # WRONG
    app.enqueue(resize, image_id=7)  # WRONG
    await app.enqueue_many(resize, [{}], prioritys=1)  # WRONG
    await app.enqueue_many(resize, [{}], queue=1)  # WRONG
    await app.enqueue_many(resize, [{}], delay=[])  # WRONG
    await app.enqueue_many(resize, [7])  # WRONG
    resize(7)  # WRONG
    print(number, text)  # noqa: T201


@app.job(overlap="skipp")  # WRONG
def misspelt_overlap() -> None: ...


@app.job(catch_up="lates")  # WRONG
def misspelt_catch_up() -> None: ...


@app.job(delivery="at_once")  # WRONG
def misspelt_delivery() -> None: ...


@app.job(executor="proces")  # WRONG
def misspelt_executor() -> None: ...


@app.job(after=resize, after_on="failed")  # WRONG
def misspelt_after_on() -> None: ...


@app.job(schedule=Every("1h"), absent="drop")  # WRONG
def misspelt_absent() -> None: ...


@app.job(retry_window="stop")  # WRONG
def misspelt_retry_window() -> None: ...


@app.on("died")  # WRONG
def misspelt_event(notice: dict[str, object]) -> None: ...


@app.job(timout="5m")  # WRONG
def misspelt_word() -> None: ...


Retry(backoff="expo")  # WRONG
app.add_notify("ops", "pager", url="https://example.org")  # WRONG
app.add_schedule("hourly-too", job=hourly, trigger=Every("1h"), overlap="alow")  # WRONG
