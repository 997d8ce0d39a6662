"""The audit log."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from fencepost.core.masking import masked
from fencepost.model.audit import Entry
from fencepost.model.json import JsonObject
from fencepost.model.run import Hold
from fencepost.operations.differences import differences
from fencepost.operations.paging import Next
from fencepost.operations.responses.runs import held_words
from fencepost.operations.words import Moment, moment


class AuditEntryResponse(Struct, kw_only=True):
    """One line of the log: who did what, when, from where and why."""

    number: int
    at: Moment
    author: str
    credential: Annotated[
        str | None,
        Meta(
            description="What proves who it was: the id of a token, of a session that rests on none, "
            "`FENCEPOST_TOKEN`, or `os:` and the user of the operating system at the store. The author's "
            "name is a label. Null: Fencepost itself, or a program.",
            examples=["t3f9c2a1b8d7e6f50"],
        ),
    ]
    source: Annotated[str, Meta(examples=["cli on web-3"])]
    reason: Annotated[str | None, Meta(description="Why, in the author's own words.")]
    action: Annotated[str, Meta(examples=["schedule.pause"])]
    subject: Annotated[str, Meta(description="A schedule, a run, a calendar, a backfill, a node …")]
    before: Annotated[dict[str, Any], Meta(description="What looks like a secret is masked.")]
    after: dict[str, Any]
    changes: Annotated[list[str], Meta(description="What lies between the two, one line a value.")]


class EntryPage(Struct, kw_only=True):
    """Entries of the log, the newest first."""

    items: list[AuditEntryResponse]
    next: Next


def entry_response(entry: Entry) -> AuditEntryResponse:
    """One line of the log."""
    return AuditEntryResponse(
        number=entry.number,
        at=moment(entry.at),
        author=entry.author.name,
        credential=entry.author.credential,
        source=entry.author.source,
        reason=entry.author.reason,
        action=str(entry.action),
        subject=entry.subject,
        before=masked(entry.before),
        after=masked(entry.after),
        changes=changes(entry),
    )


def changes(entry: Entry) -> list[str]:
    """What the action changed, one line a value; of what is new only how it stands."""
    before, after = entry.before, entry.after
    if entry.action.startswith("run."):
        before, after = _in_words(before), _in_words(after)
    if not before:
        after = {name: value for name, value in after.items() if name != "spec"}
    return differences(before, after)


def _in_words(value: JsonObject) -> JsonObject:
    """A run's holds are kept as a number."""
    held = value.get("held")
    if not isinstance(held, int):
        return value
    return {**value, "held": ", ".join(held_words(Hold(held))) or "no"}
