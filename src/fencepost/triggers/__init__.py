"""When things fire: pure functions from a spec and an instant to the next instants."""

from fencepost.triggers.at import At
from fencepost.triggers.codec import decode
from fencepost.triggers.cron import Cron
from fencepost.triggers.dst import Fold, Gap
from fencepost.triggers.every import Every
from fencepost.triggers.zones import tzdata_version, zone, zone_names

__all__ = [
    "At",
    "Cron",
    "Every",
    "Fold",
    "Gap",
    "decode",
    "tzdata_version",
    "zone",
    "zone_names",
]
