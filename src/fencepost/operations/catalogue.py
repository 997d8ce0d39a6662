"""All operations, from all modules that have some."""

from __future__ import annotations

from typing import Any

from fencepost.operations import (
    access,
    applying,
    audit,
    backfills,
    calendars,
    cancelling,
    dead,
    fleet,
    freezes,
    gates,
    jobs,
    leases,
    log,
    notify,
    pausing,
    queues,
    reconciling,
    runs,
    schedules,
    status,
    stuck,
    ticks,
    triggers,
    why,
)
from fencepost.operations.operation import Operation

MODULES = (
    runs,
    cancelling,
    stuck,
    why,
    dead,
    jobs,
    audit,
    reconciling,
    log,
    queues,
    freezes,
    gates,
    backfills,
    status,
    fleet,
    leases,
    access,
    schedules,
    applying,
    pausing,
    ticks,
    triggers,
    calendars,
    notify,
)


def all_operations() -> list[Operation[Any, Any, Any]]:
    """Every operation once, in the order of the modules and of their functions, whoever else imports it."""
    found = (one for module in MODULES for one in vars(module).values() if isinstance(one, Operation))
    return list({one.name: one for one in found}.values())
