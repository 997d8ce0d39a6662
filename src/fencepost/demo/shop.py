"""The shop: what it does all day, as jobs and schedules in code.

Six of them tick every few seconds, so that a terminal has something to show. The others are what a shop has:
invoices, stock, backups, letters on business days, one that is slower than its own period.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from fencepost.app import Fencepost
from fencepost.errors import PermanentFailure
from fencepost.model.job import Retry
from fencepost.model.policies import CatchUp, GateTerms
from fencepost.ports.run import Run
from fencepost.triggers import Calendar, Cron, Every

SLOW_S = 3.0
BERLIN = "Europe/Berlin"
HOLIDAYS = ("2026-12-25", "2026-12-26", "2027-01-01", "2027-03-26", "2027-03-29")
GATE_WAITING_MAX = 2

# It fires at a time that Berlin's clocks skip once a year and show twice once a year.
NIGHTLY = "nightly"
LIVELY = ("heartbeat", "report", "minutely", NIGHTLY, "flaky", "slow")


def build(store: str) -> Fencepost:
    """An application that notices a crash within seconds."""
    app = Fencepost(store, heartbeat_every_s=1, heartbeat_timeout_s=3, reap_every_s=1, grace_s=5)
    _add_lively(app)
    _add_goods(app)
    _add_money(app)
    _add_upkeep(app)
    return app


def _add_lively(app: Fencepost) -> None:
    app.job("heartbeat", schedule=Every("1s"))(_heartbeat)
    app.job("report", schedule=Every("5s"), catch_up="latest", spread="2s")(_report)
    app.job("minutely", schedule=Cron("* * * * *", tz=BERLIN))(_report)
    app.job(NIGHTLY, schedule=Cron("30 2 * * *", tz=BERLIN), spread="10m")(_report)
    app.job("flaky", schedule=Every("4s"), retry=Retry(3, base="500ms", cap="1s"))(_flaky)
    app.job("slow", schedule=Every("2s"), overlap="skip")(_slow)


def _add_goods(app: Fencepost) -> None:
    goods = {"team": "logistics"}
    app.job("stock-sync", retry=Retry(3, base="2s", cap="20s"), timeout="5m")(_sync_stock)
    late = CatchUp("sequential", max_lateness="1h")
    for place in ("hamburg", "madrid"):
        app.add_schedule(
            f"stock-sync-{place}",
            job="stock-sync",
            trigger=Every("5m"),
            payload={"warehouse": place},
            catch_up=late,
            labels=goods,
        )
    prices = CatchUp("sequential", max_lateness="1d", gate=GateTerms(waiting_max=GATE_WAITING_MAX))
    app.job("supplier-prices", schedule=Every("10m"), catch_up=prices, labels={"team": "purchasing"})(
        _steps("asking supplier", 4)
    )
    app.job("search-reindex", schedule=Every("15m"), labels={"team": "web"}, timeout="1h")(
        _steps("indexing shelf", 20)
    )
    app.job("abandoned-carts", schedule=Every("20m"), labels={"team": "web"}, catch_up="latest")(
        _steps("writing to customer", 6)
    )
    app.job(
        "checkout-probe",
        schedule=Cron("* * * * *"),
        labels={"team": "web", "tier": "critical"},
        retry=Retry(2, base="1s", cap="5s"),
        timeout="20s",
    )(_probe)


def _add_money(app: Fencepost) -> None:
    money = {"team": "finance"}
    workdays = Calendar("de", weekend="SAT,SUN", holidays=list(HOLIDAYS))
    app.add_calendar(workdays)
    app.job(
        "send-invoices",
        schedule=Cron("0 * * * *", tz=BERLIN),
        catch_up=CatchUp("sequential", max_lateness="2d"),
        retry=Retry(5, base="5s", cap="5m"),
        labels={**money, "tier": "critical"},
        payload={"batch": 200},
    )(_send_invoices)
    app.job("fraud-scores", schedule=Every("2m"), spread="50%", labels=money)(_steps("scoring order", 3))
    app.job("exchange-rates", schedule=Cron("5 16 * * MON-FRI", tz=BERLIN), labels=money)(
        _steps("reading", 2)
    )
    app.job("dunning-letters", schedule=workdays.business_days(at="09:00", tz=BERLIN), labels=money)(
        _steps("printing letter", 8)
    )
    app.job("payroll-export", schedule=workdays.business_day(-1, at="18:00", tz=BERLIN), labels=money)(
        _steps("writing page", 5)
    )


def _add_upkeep(app: Fencepost) -> None:
    batch = {"team": "platform", "tier": "batch"}
    app.job("backup-orders", schedule=Cron("15 */6 * * *"), spread="10m", labels={"team": "platform"})(
        _steps("copying table", 12)
    )
    app.job("backup-media", schedule=Cron("30 1 * * *", tz="America/New_York"), labels={"team": "platform"})(
        _steps("copying shelf", 30)
    )
    app.job("thumbnail-sweep", schedule=Cron("H * * * *"), labels=batch)(_steps("sweeping folder", 5))
    app.job("legacy-export", schedule=Cron("*/30 * * * *"), labels=batch)(_steps("exporting", 3))
    app.job("newsletter", schedule=Cron("0 10 * * TUE", tz="Europe/Paris"), labels={"team": "marketing"})(
        _steps("sending page", 40)
    )


async def _heartbeat() -> None:
    """The plainest of jobs."""


def _report(run: Run) -> str:
    return f"report for {run.fire_time:%H:%M:%S}, the last one was for {run.previous or 'no tick'}"


async def _flaky(run: Run) -> None:
    """Fails at the first attempt of every other tick."""
    if run.attempt == 1 and run.fire_time.timestamp() // 4 % 2:
        raise ConnectionError("the other side hung up")


async def _slow() -> None:
    """Outlasts its own period, so that the ticks in between are skipped."""
    await asyncio.sleep(SLOW_S)


async def _probe(run: Run) -> None:
    """Now and then the payment provider takes too long."""
    run.log("GET /checkout")
    await asyncio.sleep(0.4)
    if run.attempt == 1 and run.fire_time.minute % 7 == 0:
        raise TimeoutError("payment provider: no answer within 400 ms")
    run.log("200 OK in 380 ms")


async def _sync_stock(run: Run, warehouse: str) -> str:
    """Madrid's line is bad."""
    run.log(f"{warehouse}: connecting")
    if warehouse == "madrid" and run.attempt == 1 and run.fire_time.minute % 15 == 0:
        raise ConnectionError("warehouse madrid: connection reset by peer")
    for page in range(1, 9):
        await asyncio.sleep(0.5)
        run.heartbeat(progress=page / 8, note=f"page {page} of 8")
        run.log(f"{warehouse}: page {page} of 8, {page * 125} articles")
    return f"{warehouse}: 1000 articles"


async def _send_invoices(run: Run, batch: int = 100) -> str:
    """One customer never gets one."""
    for number in range(1, 11):
        await asyncio.sleep(0.6)
        run.heartbeat(progress=number / 10, note=f"invoice {number * batch // 10} of {batch}")
        run.log(f"{number * batch // 10} of {batch} sent")
    if run.fire_time.hour % 11 == 0:
        raise PermanentFailure("invoice 4711: customer 88 has no VAT id")
    return f"{batch} invoices"


def _steps(word: str, count: int) -> Callable[..., Any]:
    """A job that takes its time, and says how far it is."""

    async def work(run: Run) -> str:
        for number in range(1, count + 1):
            run.log(f"{word} {number} of {count}")
            run.heartbeat(progress=number / count, note=f"{word} {number} of {count}")
            await asyncio.sleep(0.5)
        return f"{count} done"

    return work
