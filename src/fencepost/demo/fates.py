"""The outcomes of the shop's ticks before the demo starts: pure, and the same for the same key.

Most of them went well. How long one took, and what went wrong, depends on its key alone. Whether one was
skipped depends on how long the one before it took, as in production.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from datetime import datetime

from fencepost.demo.shop import SLOW_S

RESET = "ConnectionError: warehouse madrid: connection reset by peer"
NO_VAT = "PermanentFailure: invoice 4711: customer 88 has no VAT id"
TIMEOUT = "TimeoutError: payment provider: no answer within 400 ms"
HUNG_UP = "ConnectionError: the other side hung up"
SIX_HOURS_S = 21_600


@dataclass(frozen=True)
class Fate:
    """How late it began, how long its last attempt took, how many attempts failed by what, and whether it
    gave up then."""

    late_s: float
    took_s: float
    failed: int = 0
    error: str = ""
    dead: bool = False
    again_s: float = 4.0
    """How long until it was tried again."""


def fate_of(schedule_id: str, fire_time: datetime, run_key: str) -> Fate:
    """The fate of one tick."""
    dice = zlib.crc32(run_key.encode())
    late_s = 4.0 + dice % 5 if dice % 131 == 0 else 0.012 + dice % 97 / 400
    usual_s = USUAL_S.get(schedule_id, 2.0)
    took_s = usual_s * (0.7 + dice % 61 / 100)
    match schedule_id:
        case "slow":
            return Fate(0.02, SLOW_S)
        case "flaky" if fire_time.timestamp() // 4 % 2:
            return Fate(late_s if late_s < 1 else 0.1, took_s, 1, HUNG_UP, again_s=0.4)
        case "checkout-probe" if dice % 53 == 0:
            return Fate(late_s, took_s, 1, TIMEOUT)
        case "stock-sync-madrid" if fire_time.timestamp() % SIX_HOURS_S == 0:
            return Fate(late_s, 0.3, 3, RESET, dead=True)
        case "stock-sync-madrid" if dice % 17 == 0:
            return Fate(late_s, took_s, 1 + dice % 2, RESET)
        case "send-invoices" if fire_time.hour % 11 == 0:
            return Fate(late_s, took_s, 1, NO_VAT, dead=True)
        case "search-reindex" if dice % 6 == 0:
            return Fate(late_s, 1_100.0)
        case _:
            return Fate(late_s if usual_s > 0.1 else 0.015, took_s)


USUAL_S = {
    "heartbeat": 0.004,
    "report": 0.02,
    "minutely": 0.02,
    "nightly": 0.05,
    "flaky": 0.01,
    "checkout-probe": 0.41,
    "stock-sync-hamburg": 4.2,
    "stock-sync-madrid": 6.5,
    "supplier-prices": 2.1,
    "search-reindex": 240.0,
    "abandoned-carts": 3.2,
    "send-invoices": 48.0,
    "fraud-scores": 1.6,
    "dunning-letters": 190.0,
    "payroll-export": 420.0,
    "backup-orders": 310.0,
    "backup-media": 2_700.0,
    "newsletter": 900.0,
}
"""How long each usually takes."""


def traceback_of(error: str) -> str:
    """What an attempt left behind."""
    kind, _, said = error.partition(": ")
    where = {
        "ConnectionError": ("warehouse.py", 41, "fetch_page"),
        "TimeoutError": ("payments.py", 88, "ping"),
    }
    file, line, function = where.get(kind, ("invoices.py", 137, "send"))
    return (
        "Traceback (most recent call last):\n"
        f'  File "/srv/shop/jobs/{file}", line {line}, in {function}\n'
        f"    raise {kind}({said!r})\n"
        f"{error}\n"
    )


def log_of(schedule_id: str, fate: Fate) -> list[str]:
    """Some lines of a run's log."""
    lines = [f"{schedule_id}: began", f"{schedule_id}: 125 of 500", f"{schedule_id}: 250 of 500"]
    if fate.dead:
        return [*lines[:1], f"{schedule_id}: {fate.error.partition(': ')[2]}", "giving up"]
    return [*lines, f"{schedule_id}: 500 of 500", f"{schedule_id}: done in {fate.took_s:.1f} s"]
