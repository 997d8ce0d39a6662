"""An intake: messages of a source that become runs of a job."""

from __future__ import annotations

from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import JobName

UNREADABLE = "fencepost_unreadable"
"""The name under which the payload of such a run says why its message could not be read."""


@dataclass(frozen=True, slots=True)
class Intake:
    """The source of the messages, and their key: the message's id, or a field of its body."""

    source: str
    job: JobName
    key: str | None = None
    group: str = "fencepost"
    """Where the broker has groups: each group gets every message once."""
