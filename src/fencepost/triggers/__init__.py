"""When things fire: pure functions from a spec and an instant to the next instants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.model.lazy import lazy

if TYPE_CHECKING:
    from fencepost.triggers.at import At
    from fencepost.triggers.business.calendar import Calendar
    from fencepost.triggers.codec import decode
    from fencepost.triggers.combine import Combinable
    from fencepost.triggers.cron import Cron
    from fencepost.triggers.every import Every
    from fencepost.triggers.localtime.dst import Fold, Gap
    from fencepost.triggers.localtime.zones import tzdata_version, zone, zone_names
    from fencepost.triggers.remembered import Remembered
    from fencepost.triggers.rrule import RRule
    from fencepost.triggers.solar import Solar
    from fencepost.triggers.stored import bind, stored_trigger

__all__ = [
    "At",
    "Calendar",
    "Combinable",
    "Cron",
    "Every",
    "Fold",
    "Gap",
    "RRule",
    "Remembered",
    "Solar",
    "bind",
    "decode",
    "stored_trigger",
    "tzdata_version",
    "zone",
    "zone_names",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "At": "fencepost.triggers.at",
        "Calendar": "fencepost.triggers.business.calendar",
        "Combinable": "fencepost.triggers.combine",
        "Cron": "fencepost.triggers.cron",
        "Every": "fencepost.triggers.every",
        "Fold": "fencepost.triggers.localtime.dst",
        "Gap": "fencepost.triggers.localtime.dst",
        "RRule": "fencepost.triggers.rrule",
        "Remembered": "fencepost.triggers.remembered",
        "Solar": "fencepost.triggers.solar",
        "bind": "fencepost.triggers.stored",
        "decode": "fencepost.triggers.codec",
        "stored_trigger": "fencepost.triggers.stored",
        "tzdata_version": "fencepost.triggers.localtime.zones",
        "zone": "fencepost.triggers.localtime.zones",
        "zone_names": "fencepost.triggers.localtime.zones",
    },
)
