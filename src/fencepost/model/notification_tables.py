"""The tables of notifications: the targets, since when they are told, and what is wrong."""

from __future__ import annotations

from fencepost.model.table import table

NOTIFY_TARGETS = table(
    "notify_targets", "namespace name", text="namespace name definition", time="updated_at"
)
NOTIFY_EVENTS = table("notify_events", "namespace event", text="namespace event", time="since first_at")
ALARMS = table(
    "alarms",
    "namespace event subject",
    text="namespace event subject job schedule_id words",
    boolean="told",
    time="since ended_at",
    defaults={"told": False},
)
