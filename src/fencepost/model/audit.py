"""The audit log: who did what, when, from where, and what it was before and after."""

from __future__ import annotations

from dataclasses import field
from datetime import datetime
from enum import StrEnum

from fencepost.model.clocks import StoreTime
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Namespace
from fencepost.model.json import JsonObject


@dataclass(frozen=True, slots=True)
class Author:
    """Who acts, and from where: `anna`, `cli on web-3`. Fencepost itself is an author too."""

    name: str
    source: str
    reason: str | None = None
    """Why, in the author's own words."""
    credential: str | None = None
    """The proof of identity: the id of a token or a session, `FENCEPOST_TOKEN`, or `os:anna` for the
    operating system's user at the store. The name is only a label. None: Fencepost itself or a program."""


HOUSE = Author("fencepost", "itself")
"""The author of what Fencepost does by itself: a gate that closed, zone rules that changed."""

PROGRAM = Author("application", "python")
"""A program that calls without saying for whom."""


class Action(StrEnum):
    """What can be done. The subject is a schedule, a run, a calendar, a backfill, a node, the id of a
    credential, or everything."""

    SCHEDULE_PUT = "schedule.put"
    SCHEDULE_PAUSE = "schedule.pause"
    SCHEDULE_RESUME = "schedule.resume"
    SCHEDULE_REMOVE = "schedule.remove"
    SCHEDULE_TRIGGER = "schedule.trigger"
    RUN_ENQUEUE = "run.enqueue"
    RUN_CANCEL = "run.cancel"
    RUN_SKIP = "run.skip"
    RUN_HOLD = "run.hold"
    RUN_RELEASE = "run.release"
    RUN_REPLAY = "run.replay"
    RUN_RESTORE = "run.restore"
    RUN_REPORT_REFUSED = "run.report_refused"
    CALENDAR_PUT = "calendar.put"
    CALENDAR_REMOVE = "calendar.remove"
    FREEZE = "freeze"
    THAW = "thaw"
    GATE_CLOSE = "gate.close"
    GATE_OPEN = "gate.open"
    GATE_LATEST = "gate.latest"
    GATE_DROP = "gate.drop"
    BACKFILL_START = "backfill.start"
    BACKFILL_CANCEL = "backfill.cancel"
    NOTIFY_PUT = "notify.put"
    NOTIFY_REMOVE = "notify.remove"
    NODE_DRAIN = "node.drain"
    NODE_UNDRAIN = "node.undrain"
    RESHARD = "reshard"
    LEDGER_RESTORE = "ledger.restore"
    TOKEN_CREATE = "token.create"
    TOKEN_ROTATE = "token.rotate"
    TOKEN_REVOKE = "token.revoke"
    LINK_OPEN = "link.open"
    SESSION_OPEN = "session.open"
    SESSION_END = "session.end"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the log."""

    number: int
    namespace: Namespace
    at: StoreTime
    author: Author
    action: Action
    subject: str
    before: JsonObject = field(default_factory=dict)
    after: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Which entries to list, newest first; `before_number` goes on from an earlier page."""

    subject: str | None = None
    action: Action | None = None
    author: str | None = None
    """A name, or the id of a credential."""
    since: datetime | None = None
    until: datetime | None = None
    before_number: int | None = None
    limit: int = 50
