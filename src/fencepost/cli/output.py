"""What commands print: aligned tables for people, one JSON document for scripts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

import click
import msgspec

from fencepost.cli.faults import one_line
from fencepost.model.durations import format_duration
from fencepost.model.times import from_utc_text
from fencepost.triggers import zone

GAP = "  "
BRIEF_MAX = 60


def print_json(value: Any) -> None:
    """One JSON document, of plain values or of what an operation answered."""
    click.echo(json.dumps(msgspec.to_builtins(value), indent=2))


def print_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Columns as wide as their widest cell."""
    table = [list(headings), *([cell(one) for one in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        padded = (text.ljust(width) for text, width in zip(row, widths, strict=True))
        click.echo(GAP.join(padded).rstrip())


def print_fields(fields: Sequence[tuple[str, object]]) -> None:
    """One name and value a line."""
    width = max(len(name) for name, _ in fields)
    for name, value in fields:
        click.echo(f"{name.ljust(width)}{GAP}{cell(value)}".rstrip())


def print_block(title: str, text: str | None) -> None:
    """Several lines under a title, indented; nothing where there is no text."""
    if text:
        click.echo(f"  {title}:")
        for line in text.rstrip().splitlines():
            click.echo(f"    {printable(line)}")


def printable(line: str) -> str:
    """A line without what would steer a terminal."""
    return "".join(c if c.isprintable() or c == chr(9) else " " for c in line)


def cell(value: object) -> str:
    """A value on one line, `-` where there is none."""
    return "-" if value is None or value == "" else one_line(str(value))


def brief(value: object) -> str:
    """A value that may be long, cut to a column's width."""
    text = cell(value)
    return text if len(text) <= BRIEF_MAX else f"{text[: BRIEF_MAX - 1]}…"


def shown_time(moment: datetime | None, tz: str | None) -> str | None:
    """`2026-03-29 03:30:00 CEST`, in the zone asked for or in this machine's own."""
    if moment is None:
        return None
    try:
        local = moment.astimezone(zone(tz) if tz is not None else None)
    except (OverflowError, ValueError):
        local = moment
    return local.strftime("%Y-%m-%d %H:%M:%S %Z")


def shown_moment(moment: str | None, tz: str | None) -> str | None:
    """The same of a moment in a document."""
    return None if moment is None else shown_time(from_utc_text(moment), tz)


def shown_span(seconds: float | None) -> str | None:
    """`1h30m`, in whole seconds."""
    if seconds is None:
        return None
    return format_duration(timedelta(seconds=round(max(seconds, 0))))
