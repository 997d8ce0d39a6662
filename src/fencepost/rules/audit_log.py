"""The audit log: what every rule leaves there, and how it is read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from fencepost.model.audit import Action, Author, Entry, LogFilter
from fencepost.model.identifiers import Namespace
from fencepost.model.json import JsonObject, JsonValue
from fencepost.model.table import Range, Row
from fencepost.model.tables import AUDIT_LOG, AUDIT_LOG_BY_NUMBER, AUDIT_LOG_BY_SUBJECT
from fencepost.ports.rows import Transaction
from fencepost.rules.part import Part, older, reads, search, writes
from fencepost.rules.rows import Row as AnyRow
from fencepost.rules.rows import reader


def to_author(row: AnyRow) -> Author:
    """The columns `author`, `source` and `reason`."""
    return Author(row["author"], row["source"], row["reason"])


def written_by(author: Author) -> dict[str, str | None]:
    """The same columns of a row that is written."""
    return {"author": author.name, "source": author.source, "reason": author.reason}


to_entry = reader(
    Entry,
    author=lambda row: replace(to_author(row), credential=row["credential"]),
    before=lambda row: json.loads(row["before"]),
    after=lambda row: json.loads(row["after"]),
)


class Change(NamedTuple):
    """What an entry is about, before and after."""

    subject: str
    before: Mapping[str, JsonValue]
    after: Mapping[str, JsonValue]


async def log(
    tx: Transaction,
    author: Author | None,
    namespace: Namespace,
    action: Action,
    subject: str,
    before: Mapping[str, JsonValue],
    after: Mapping[str, JsonValue],
) -> None:
    """Leave an entry, where there is an author."""
    await log_all(tx, author, namespace, action, [Change(subject, before, after)])


async def log_all(
    tx: Transaction, author: Author | None, namespace: Namespace, action: Action, changes: Iterable[Change]
) -> None:
    """Leave an entry for each of these, where there is an author."""
    if author is None:
        return
    same = {
        "namespace": namespace,
        "at": await tx.now(),
        **written_by(author),
        "action": str(action),
        "credential": author.credential,
    }
    said = [
        {**same, "subject": one.subject, "before": json.dumps(one.before), "after": json.dumps(one.after)}
        for one in changes
    ]
    await tx.put_if_absent(AUDIT_LOG, said)


class AuditLogRules(Part):
    """See `ports.audit_log`."""

    @reads
    async def list(self, tx: Transaction, namespace: Namespace, wanted: LogFilter) -> Sequence[Entry]:
        where = _where(namespace, wanted)
        rows = await search(tx, where, partial(_matches, wanted), wanted.limit, reverse=True)
        return [to_entry(row) for row in rows]

    @writes
    async def record(
        self,
        tx: Transaction,
        namespace: Namespace,
        author: Author,
        action: Action,
        subject: str,
        about: JsonObject,
    ) -> None:
        await log(tx, author, namespace, action, subject, {}, about)


def _where(namespace: Namespace, wanted: LogFilter) -> Range:
    if wanted.subject is None:
        found = AUDIT_LOG_BY_NUMBER(namespace)
    else:
        found = AUDIT_LOG_BY_SUBJECT(namespace, wanted.subject)
    return older(found, wanted.before_number)


def _matches(wanted: LogFilter, row: Row) -> bool:
    """Whether an entry is asked for; `since` is inclusive, `until` is not."""
    return (
        (wanted.action is None or row["action"] == wanted.action)
        and (wanted.author in (None, row["author"], row["credential"]))
        and (wanted.since is None or row["at"] >= wanted.since)
        and (wanted.until is None or row["at"] < wanted.until)
    )
