"""Two other cron libraries, asked the same questions, and expressions that they and the engine share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from random import Random

from croniter import CroniterBadDateError, CroniterError, croniter
from cronsim import CronSim, CronSimError

from fencepost.triggers import Cron, zone
from tests.triggers.oracle import DAY, HOUR, MINUTE, MONTH, SECOND, WEEKDAY, Field
from tests.triggers.oracle_cases import changes, written
from tests.triggers.oracle_walk import wall_at

YEARS_MAX = 50
REFUSED = "refused"
NOTHING = "nothing"


def says(peer: str, expression: str, start: datetime, count: int, *, backwards: bool = False) -> str:
    """The times that a library finds from a local time on; or that it refuses, or finds nothing."""
    try:
        found = PEERS[peer](expression, start, count, backwards)
    except CroniterBadDateError:
        return NOTHING
    except (CronSimError, CroniterError):
        return REFUSED
    return written_times(found) or NOTHING


def written_times(times: Iterable[datetime]) -> str:
    """Instants as text, to the minute where they have no seconds, and to the day at midnight."""
    texts = (one.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S") for one in times)
    return " ".join(text.removesuffix(":00").removesuffix("T00:00") for text in texts)


def previous_of(cron: Cron, before: datetime) -> Iterator[datetime]:
    """The engine's fire times before an instant, latest first."""
    while (found := cron.previous(before)) is not None:
        yield found
        before = found


def _cronsim(expression: str, start: datetime, count: int, backwards: bool) -> list[datetime]:
    return list(islice(CronSim(expression, start, reverse=backwards), count))


def _croniter(expression: str, start: datetime, count: int, backwards: bool) -> list[datetime]:
    found = croniter(expression, start, max_years_between_matches=YEARS_MAX, second_at_beginning=True)
    step = found.get_prev if backwards else found.get_next
    return [step(datetime) for _ in range(count)]


PEERS = {"cronsim": _cronsim, "croniter": _croniter}


def cronsim_expression(random: Random) -> str:
    """Five or six fields that cronsim reads as the engine does."""
    day = field(random, DAY, specials=("L", "LW"))
    weekday = field(random, WEEKDAY, specials=(f"{random.randint(0, 7)}L", nth_weekday(random)))
    return _joined(random, day, weekday)


def croniter_expression(random: Random) -> str:
    """Five or six fields that croniter reads as the engine does.

    It takes a step from a star for a restriction, so that a day field is a star or a list; and days by number
    and by weekday stand together only where neither is special.
    """
    days = [
        ("*", "*"),
        (plain(random, DAY), "*"),
        ("*", plain(random, WEEKDAY)),
        (plain(random, DAY, high=28), plain(random, WEEKDAY)),
        ("L", "*"),
        (f"{random.randint(1, 28)}W", "*"),
        ("*", ",".join(nth_weekday(random) for _ in range(random.randint(1, 3)))),
    ]
    return _joined(random, *random.choice(days))


def _joined(random: Random, day: str, weekday: str) -> str:
    month = "*" if random.random() < 0.6 else field(random, MONTH)
    fields = [field(random, MINUTE), field(random, HOUR), day, month, weekday]
    return " ".join(fields if random.random() < 0.7 else [field(random, SECOND), *fields])


def field(random: Random, of: Field, specials: tuple[str, ...] = ()) -> str:
    """A star, a step from it, or a list that may hold some special days."""
    if random.random() < 0.4:
        return random.choice(("*", "*", f"*/{random.randint(1, of.longest_step)}"))
    if specials and random.random() < 0.3:
        return (
            random.choice(specials)
            if random.random() < 0.5
            else f"{random.choice(specials)},{plain(random, of)}"
        )
    return plain(random, of)


def plain(random: Random, of: Field, high: int | None = None) -> str:
    """A list of values, of ranges with two ends, of steps over these and, for days and months, open steps."""
    return ",".join(_item(random, of, high or of.last) for _ in range(random.choice((1, 1, 2, 3))))


def nth_weekday(random: Random) -> str:
    """`MON#2`."""
    return f"{written(random, WEEKDAY, random.randint(0, 6))}#{random.randint(1, 5)}"


def _item(random: Random, of: Field, high: int) -> str:
    low, top = sorted(random.sample(range(of.low, high + 1), 2))
    span = f"{written(random, of, low)}-{written(random, of, top)}"
    step = random.randint(1, of.longest_step)
    items = [written(random, of, low), span, f"{span}/{step}"]
    return random.choice([*items, f"{low}/{step}"] if of in (DAY, MONTH) else items)


def changes_oddly(tz: str, start: datetime, end: datetime) -> bool:
    """Whether the clocks change in between off the hour or next to midnight, where the peers stumble."""
    inside = (at for at in _changes(tz, start, end) if start.timestamp() <= at <= end.timestamp())
    return any(_is_odd(wall_at(tz, at - 1), wall_at(tz, at)) for at in inside)


def _is_odd(before: datetime, after: datetime) -> bool:
    whole = (before.minute, after.minute) == (59, 0)
    return not whole or before.date() != after.date() or before.hour in (0, 23) or after.hour in (0, 23)


def is_repeated(tz: str, moment: datetime) -> bool:
    """Whether the wall clock shows a time at an instant for the second time."""
    return bool(moment.astimezone(zone(tz)).fold)


def _changes(tz: str, start: datetime, end: datetime) -> list[int]:
    return [at for year in range(start.year, end.year + 1) for at in changes(tz, year)]
