"""What a cron expression may mean to others: allowed here, and worth a look."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fencepost.model.quoting import quoted
from fencepost.triggers.cron.expression import AND_SIGN, MACROS
from fencepost.triggers.cron.fields import is_unrestricted

WILDCARDS = ("*", "?")
FIELDS = (5, 6)
_NUMBERED = re.compile(r"(?<![#/\w])[0-9]")


def cautions(expression: str) -> tuple[str, ...]:
    """One sentence for each reading of an expression that is not the only one."""
    words = MACROS.get(expression.lower(), expression).split()
    return (*_day_rule(words), *_quartz(words)) if len(words) in FIELDS else ()


def _day_rule(words: list[str]) -> Iterator[str]:
    day, weekday = words[-3], words[-1]
    if weekday.startswith(AND_SIGN) or day in WILDCARDS or weekday in WILDCARDS:
        return
    for name, text, full in (("day", day, "1-31"), ("weekday", weekday, "0-6")):
        if is_unrestricted(text):
            yield (
                f"{name} {quoted(text)}: begins with *, so a day has to fit both day fields, as in Debian's "
                f"cron; to some others one is enough. Write {AND_SIGN}{weekday} where both are meant, or "
                f"{full}{text[1:]} in its place where either is"
            )
            return


def _quartz(words: list[str]) -> Iterator[str]:
    if words[-3] == "?" and _NUMBERED.search(words[-1]):
        yield (
            f"weekday {quoted(words[-1])}: the ? before it is Quartz's, which counts weekdays from 1 for "
            "Sunday; here 0 and 7 are Sunday and 6 is Saturday. Write names, such as FRI"
        )
