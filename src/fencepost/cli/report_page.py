"""The post-mortem page: Markdown tables, each with a word about what is not shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fencepost.cli import report_facts
from fencepost.cli.faults import one_line
from fencepost.cli.output import shown_moment, shown_span
from fencepost.cli.report_facts import PostMortem, Section
from fencepost.cli.run_views import first_due
from fencepost.core.fleet import shard_numbers
from fencepost.model.identifiers import Shard
from fencepost.operations.responses.accounts import AccountResponse
from fencepost.operations.responses.fleet import TermResponse
from fencepost.operations.responses.log import AuditEntryResponse
from fencepost.operations.responses.runs import RunResponse

CELL_MAX = 200
MARKUP = re.compile(r"([\\`*\[\]<>|])")

Row = Sequence[object]


def page_of(found: PostMortem, tz: str | None) -> str:
    """The whole page; times are shown in that zone."""
    return "\n".join(_lines(found, tz)) + "\n"


def _lines(found: PostMortem, tz: str | None) -> Iterator[str]:
    yield f"# {shown_moment(found.since, tz)} to {shown_moment(found.until, tz)}"
    yield from _section("What fired", found.schedules, SCHEDULE, map(_schedule, found.schedules.items))
    yield ""
    share = f"{found.accounted / found.due:.2%}" if found.due else "all"
    ended = ", ".join(f"{count} {state}" for state, count in found.states.items()) or "none"
    yield f"{found.expected} ticks expected, {found.succeeded} ran, {share} accounted for: {ended}."
    findings = (
        (one.kind, one.schedule_id, shown_moment(one.fire_time, tz), one.words)
        for one in found.findings.items
    )
    yield from _section("What was wrong", found.findings, FINDING, findings)
    yield from _section("What was late", found.late, LATE, (_late(one, tz) for one in found.late.items))
    if found.late_among >= report_facts.READ_MAX:
        yield from ("", f"Only the newest {found.late_among} runs of the range were looked at.")
    yield from _section(
        "What was missed", found.missed, MISSED, (_missed(one, tz) for one in found.missed.items)
    )
    yield from _section("What died", found.dead, DEAD, (_dead(one, tz) for one in found.dead.items))
    yield from _section("Who led", found.terms, TERM, _terms(found.terms.items, tz))
    refused = (
        (shown_moment(one.at, tz), one.holder, one.shard, one.epoch, one.known_holder, one.known_epoch)
        for one in found.refusals.items
    )
    yield from _section("Whose late plans were refused", found.refusals, REFUSAL, refused)
    yield from _section(
        "What people did", found.actions, ACTION, (_action(one, tz) for one in found.actions.items)
    )


SCHEDULE = ("schedule", "expected", "succeeded", "accounted", "other states", "findings")
FINDING = ("finding", "schedule", "fire time", "what")
LATE = ("run", "due", "began", "late")
MISSED = ("run", "fire time", "why")
DEAD = ("run", "attempts", "ended", "error")
TERM = ("node", "shards", "epochs", "from", "to")
REFUSAL = ("at", "of", "shard", "epoch", "led by", "epoch of that")
ACTION = ("at", "who", "from", "what", "of", "why")


def _section(title: str, of: Section[Any], headings: Sequence[str], rows: Iterable[Row]) -> Iterator[str]:
    yield from ("", f"## {title}", "")
    if not of.items:
        yield "Nothing." if not of.count else f"{of.count}, counted without a row for each."
        return
    yield _row(headings)
    yield _row(["---"] * len(headings))
    yield from (_row([_cell(one) for one in row]) for row in rows)
    if of.count > len(of.items):
        at_least = "at least " if of.count >= report_facts.READ_MAX else ""
        yield from ("", f"And {at_least}{of.count - len(of.items)} more.")


def _schedule(one: AccountResponse) -> Row:
    others = (f"{count} {state}" for state, count in one.states.items() if count and state != "succeeded")
    findings = (f"{count} {kind}" for kind, count in one.counts.items() if count)
    numbers = (one.expected, one.succeeded, one.accounted)
    return one.schedule_id, *numbers, ", ".join(others), ", ".join(findings)


def _late(run: RunResponse, tz: str | None) -> Row:
    moments = (shown_moment(one, tz) for one in (first_due(run), run.first_started_at))
    return run.run_key, *moments, shown_span(run.late_s)


def _missed(run: RunResponse, tz: str | None) -> Row:
    return run.run_key, shown_moment(run.fire_time, tz), run.reason


def _dead(run: RunResponse, tz: str | None) -> Row:
    error = (run.error or "").strip().partition("\n")[0]
    return run.run_key, run.attempt, shown_moment(run.finished_at, tz), error or run.reason


def _terms(terms: Sequence[TermResponse], tz: str | None) -> Iterator[Row]:
    """Terms of one node that began and ended together share a row."""
    alike: dict[tuple[str, str | None, str | None], list[TermResponse]] = {}
    for one in terms:
        times = shown_moment(one.since, tz), shown_moment(one.until, tz)
        alike.setdefault((one.holder, *times), []).append(one)
    for (holder, begin, end), some in alike.items():
        epochs = sorted({one.epoch for one in some})
        span = str(epochs[0]) if len(epochs) == 1 else f"{epochs[0]} to {epochs[-1]}"
        yield holder, shard_numbers(Shard(one.shard) for one in some), span, begin, end or "still leads"


def _action(entry: AuditEntryResponse, tz: str | None) -> Row:
    return shown_moment(entry.at, tz), entry.author, entry.source, entry.action, entry.subject, entry.reason


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(value: object) -> str:
    """One line of plain text, whatever is in it."""
    text = "" if value is None else one_line(str(value))
    text = text if len(text) <= CELL_MAX else f"{text[: CELL_MAX - 1]}…"
    return MARKUP.sub(r"\\\1", text)
