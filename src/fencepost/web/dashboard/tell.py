"""Times and lengths of time as a viewer reads them: in their zone, with UTC behind it.

Every moment is a `<time>` whose `datetime` is RFC 3339 in UTC, and whose title says it in UTC too.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from functools import cached_property, lru_cache
from zoneinfo import ZoneInfo

from markupsafe import Markup

from fencepost.model.dataclasses import dataclass
from fencepost.model.times import from_utc_text, to_utc_text

NEVER = "–"
STEPS = ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s"))
TIME = '<time datetime="{at}" title="{title}"{hook}>{words}</time>'


def span(seconds: float | None) -> str:
    """`340 ms`, `4.2 s`, `3 min 20 s`, `2 d 4 h`: two units at most."""
    if seconds is None:
        return NEVER
    size = abs(seconds)
    if size < 0.0005:
        return "0 s"
    if size < 1:
        return f"{size * 1000:.0f} ms"
    if size < 60:
        return f"{size:.1f} s" if size < 9.95 and size != int(size) else f"{size:.0f} s"
    whole = round(size)
    for large, large_unit, small, small_unit in STEPS:
        if whole >= large:
            count, rest = divmod(whole, large)
            more = f" {rest // small} {small_unit}" if rest // small and count < 30 else ""
            return f"{count} {large_unit}{more}"
    return f"{whole} s"


def share(part: float) -> str:
    """A share in per cent, never rounded up to all of it."""
    if part >= 1:
        return "100 %"
    return f"{int(part * 10_000) / 100:.2f} %"


def count(number: int, most: int | None = None) -> str:
    """A number with thin gaps; `10 000+` where counting ended there."""
    text = f"{number:,}".replace(",", "\u202f")
    return f"{text}+" if most is not None and number >= most else text


def whole(value: float) -> str:
    """A number at the axis of a chart; nothing where it is not a whole one."""
    return count(int(value)) if value == int(value) else ""


@dataclass(frozen=True)
class Tell:
    """Moments, as seen from one place at one time."""

    now: datetime
    zone: ZoneInfo

    span = staticmethod(span)
    share = staticmethod(share)
    count = staticmethod(count)

    @cached_property
    def _today(self) -> date:
        return self.now.astimezone(self.zone).date()

    def time(self, moment: datetime | str | None, form: str = "") -> Markup:
        """A moment: its time of day where that is enough, with its date where it is not. A text is one that
        an operation answered with."""
        if moment is None:
            return Markup(NEVER)
        known = from_utc_text(moment) if isinstance(moment, str) else moment
        return self._markup(known, self.words(known, form))

    def until(self, moment: datetime | None, then: Iterable[datetime] = ()) -> Markup:
        """`in 4 min`, which the script counts down, and then to the ones after it."""
        if moment is None:
            return Markup(NEVER)
        after = " ".join(to_utc_text(one) for one in then)
        hook = f'countdown data-then="{after}"' if after else "countdown"
        return self._markup(moment, self.until_words(moment), hook)

    def ago(self, moment: datetime | None) -> Markup:
        """`4 min ago`, which the script counts on."""
        return Markup(NEVER) if moment is None else self._markup(moment, self.ago_words(moment), "ago")

    def until_words(self, moment: datetime) -> str:
        left = (moment - self.now).total_seconds()
        return f"in {span(_whole(left))}" if left > 0 else "now"

    def ago_words(self, moment: datetime) -> str:
        gone = (self.now - moment).total_seconds()
        return f"{span(_whole(gone))} ago" if gone >= 1 else "just now"

    def words(self, moment: datetime, form: str = "") -> str:
        """`14:05:09` of today, `1 Mar 14:05` of this year, `1 Mar 2025 14:05` else."""
        local, today = moment.astimezone(self.zone), self._today
        if form == "clock" or (not form and local.date() == today):
            return _clock(local)
        weekday, day = _day(local.date(), today.year)
        if form == "day":
            return day
        clock = _clock(local) if local.second or form == "full" else f"{local.hour:02}:{local.minute:02}"
        return f"{weekday} {day} {clock}" if form == "full" else f"{day} {clock}"

    def minute(self, moment: datetime) -> str:
        """`14:05`, for an axis."""
        local = moment.astimezone(self.zone)
        return f"{local.hour:02}:{local.minute:02}"

    def day(self, moment: datetime) -> str:
        """`1 Mar`, for an axis."""
        return _day(moment.astimezone(self.zone).date(), self._today.year)[1]

    def _markup(self, moment: datetime, words: str, hook: str = "") -> Markup:
        utc = moment.astimezone(UTC)
        title = f"{utc:%Y-%m-%d %H:%M:%S} UTC"
        if hook:
            title = f"{self.words(moment, 'full')} · {title}"
        return Markup(TIME).format(
            at=to_utc_text(moment), title=title, hook=Markup(f" data-{hook}") if hook else "", words=words
        )


def _clock(local: datetime) -> str:
    return f"{local.hour:02}:{local.minute:02}:{local.second:02}"


@lru_cache(maxsize=1_000)
def _day(day: date, this_year: int) -> tuple[str, str]:
    """Its weekday, and the day with its year where that is another: a page has many moments of few days."""
    year = "" if day.year == this_year else f" {day.year}"
    return f"{day:%a}", f"{day.day} {day:%b}{year}"


def _whole(seconds: float) -> float:
    """What is counted down is counted in whole seconds."""
    return timedelta(seconds=seconds) // timedelta(seconds=1) if seconds >= 1 else 1
