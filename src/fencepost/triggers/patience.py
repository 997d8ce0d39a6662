"""How long a search for a fire time goes on before it is given up.

A trigger that never fires cannot always be told from one that fires rarely, so a search is bounded twice: by
a number of looks, and by `HORIZON` of time from its first look on. 29 February on a given weekday can be 40
years away, which is within. Where there is little to look at in that time, `LOOKS_MIN` looks are taken in any
case, however far they lead: they cost next to nothing.

A look at some kinds of trigger costs more than at others. Each has a price, in looks at a cron
expression, and a search among dear ones takes fewer looks.

A server also bounds the time of a search (`within`). It brings the clock; nothing here reads one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timedelta

from fencepost.errors import SearchTooLong

HORIZON_YEARS = 50
HORIZON = timedelta(days=365.25 * HORIZON_YEARS)
LOOKS_MIN = 100

# Measured: cron 17 µs, a rule or a business day up to 60 µs, the sun 50 µs, and 600 µs near the poles.
PRICE_PLAIN, PRICE_RULE, PRICE_SUN = 1, 3, 20

# A search for people takes this many times the looks of a planner's, which can go on from where it was cut.
PATIENCE = 11

# A list of fire times takes this many times more as a whole, not for each of them.
LIST_PATIENCE = 3


@dataclass(slots=True)
class Looks:
    """The looks of one search: how many it may take, how many there were, and where the first one was."""

    most: int
    taken: int = 0
    first: datetime | None = None

    def go_on(self, moment: datetime) -> bool:
        """Whether another look may follow the fruitless one at that moment."""
        keep_on()
        if self.first is None:
            self.first = moment
        self.taken += 1
        is_near = self.taken < LOOKS_MIN or abs(moment - self.first) < HORIZON
        return self.taken < self.most and is_near


_stop: ContextVar[Callable[[], None] | None] = ContextVar("fencepost_search_stop", default=None)


@contextmanager
def within(seconds: float, elapsed_s: Callable[[], float]) -> Iterator[None]:
    """Searches inside, all together, end with SearchTooLong once that much time has passed."""

    def stop() -> None:
        if elapsed_s() >= seconds:
            fix = "ask for fewer fire times or a shorter range, or combine fewer triggers"
            raise SearchTooLong(f"the search for fire times took longer than {seconds:g} s; {fix}")

    token = _stop.set(stop)
    try:
        yield
    finally:
        _stop.reset(token)


def keep_on() -> None:
    """Asked between any two looks: raises where the time of the search is over."""
    stop = _stop.get()
    if stop is not None:
        stop()
