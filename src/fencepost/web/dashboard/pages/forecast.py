"""The forecast: what is due in the next day, and where it crowds."""

from __future__ import annotations

from markupsafe import Markup

from fencepost.core.checkup.herds import HERD_MIN
from fencepost.core.forecast import BUCKET, Forecast
from fencepost.model.access import Role
from fencepost.web.dashboard.charts.bars import Bar, Part, bars
from fencepost.web.dashboard.page import NoQuery, Shown, Visit, page
from fencepost.web.dashboard.tell import Tell, count, whole


@page("/forecast", Role.VIEWER, title="Forecast", template="forecast.html", section="forecast")
async def forecast_page(visit: Visit[NoQuery]) -> Shown:
    """What is known of it by now."""
    control = visit.control
    found = await visit.forecasts.of(control.store, control.namespace, visit.now)
    if found is None:
        return {"forecast": None}
    tell = Tell(visit.now, visit.zone)
    most = max([1, *found.fired, *found.due])
    hours = max((found.through - found.start).total_seconds() / 3600, 1.0)
    return {
        "forecast": found,
        "total": sum(found.fired),
        "per_hour": sum(found.fired) / hours,
        "herd_min": HERD_MIN,
        "herds": sum(one.due >= HERD_MIN for one in found.busy),
        "due_chart": _chart(found, found.due, most, "running", tell, "due"),
        "fired_chart": _chart(found, found.fired, most, "planned", tell, "fire"),
    }


def _chart(found: Forecast, numbers: tuple[int, ...], most: int, mark: str, tell: Tell, verb: str) -> Markup:
    items = [_bar(found, index, number, mark, tell, verb) for index, number in enumerate(numbers)]
    words = {"due": "Runs due", "fire": "Runs due if nothing were spread"}[verb]
    most_shown = count(max(numbers, default=0))
    label = f"{words} in the next 24 hours, in stretches of five minutes: at most {most_shown}"
    return bars(items, label, whole, most)


def _bar(found: Forecast, index: int, number: int, mark: str, tell: Tell, verb: str) -> Bar:
    begin = found.start + BUCKET * index
    local, end = begin.astimezone(tell.zone), (begin + BUCKET).astimezone(tell.zone)
    title = f"{local:%H:%M} to {end:%H:%M}: {count(number)} {verb}"
    return Bar(title, (Part(mark, number),), f"{local:%H:%M}")
