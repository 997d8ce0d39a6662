"""`fencepost schedules apply`: the store gets the schedules that a file has."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click
from msgspec.json import encode

from fencepost.cli.calling import Caller, calling
from fencepost.cli.options import Place, changes_store, json_option
from fencepost.cli.output import print_json
from fencepost.cli.progress import Progress
from fencepost.errors import InvalidSpec, UsageError
from fencepost.manifest.entries import read_entries
from fencepost.model.identifiers import checked_name
from fencepost.operations.applying import SOURCE_LABEL, ApplySchedulesRequest, ScheduleEntry, apply_schedules
from fencepost.operations.paging import LIMIT_MAX
from fencepost.operations.responses.schedules import AppliedEntry
from fencepost.operations.schedules import (
    ChangeScheduleRequest,
    ListSchedulesRequest,
    list_schedules,
    remove_schedule,
)

STDIN = "-"
BYTES_MAX = 256 * 1024 * 1024
TOLD_MAX = 20
BATCH, SENT_BYTES_MAX = 1_000, 128 * 1024
"""How many are written together, and how much goes in one request to a server, whose bodies are bounded."""
CREATED, CHANGED, UNCHANGED, REFUSED = "created", "changed", "unchanged", "refused"


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--source", metavar="NAME", help="What the file is called in the store; its name unless given.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and write nothing.")
@click.option(
    "--prune", is_flag=True, help="Remove what was applied from this source before and is not in the file."
)
@click.option("--yes", is_flag=True, help="Do not ask before schedules are removed.")
@changes_store
@json_option
def apply(
    file: str, source: str | None, dry_run: bool, prune: bool, yes: bool, place: Place, as_json: bool
) -> None:
    """Create or change schedules so that they are as a file has them.

    The file has [schedules.ID] tables as in fencepost.toml, or is JSON as `schedules list --json` prints it;
    `-` reads stdin. Everything is checked before anything is written. Schedules that the file has get the
    label applied-from; --prune removes those with the label of this source that the file does not have.

    \b
    Example:
      fencepost schedules apply customers.toml --dry-run
      fencepost schedules apply customers.toml --prune --yes
      make-schedules | fencepost schedules apply - --source customers
    """
    if prune and file == STDIN and source is None:
        raise UsageError("--prune: give --source NAME too; what comes by stdin has no name of its own")
    named = source or ("stdin" if file == STDIN else Path(file).name)
    _check_source(named, source is None)
    entries, said = read_entries(file, _read(file))
    place = _in_namespace(file, place, said)
    if prune and not entries:
        raise UsageError(f"{file}: has no schedules, and --prune would remove all; remove them by their ids")
    with calling(place) as caller:
        found = _sent(caller, _batches(entries, place), named, "checking", dry_run=True)
        _refuse(file, found)
        gone = _gone(caller, named, {one.schedule_id for one in entries}) if prune else []
        if not dry_run:
            _confirm(gone, yes)
            wanted = {one.schedule_id for one in found if one.change != UNCHANGED}
            written = _batches([one for one in entries if one.schedule_id in wanted], place)
            _refuse(file, _sent(caller, written, named, "applying"))
            _remove(caller, gone)
    _print(found, gone, dry_run, as_json)


def _in_namespace(file: str, place: Place, said: str | None) -> Place:
    """The place, in the namespace that the file names. A server knows which one its caller may use."""
    meant = place.namespace or (None if place.server else place.settings().namespace)
    if said is None or said == meant:
        return place
    if meant is None:
        return replace(place, namespace=said)
    raise UsageError(f"{file}: namespace: is {said}, and would be applied to {meant}; say --namespace {said}")


def _check_source(named: str, of_file: bool) -> None:
    try:
        checked_name("--source", named)
    except InvalidSpec as error:
        raise UsageError(f"{error}; give one by --source NAME" if of_file else str(error)) from None


def _confirm(gone: Sequence[str], yes: bool) -> None:
    """Nothing is removed unasked: a program says --yes, a person is asked."""
    if not gone or yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(f"--prune would remove {len(gone)} schedules; look by --dry-run, then say --yes")
    click.confirm(f"remove {len(gone)} schedules?", abort=True, err=True)


def _read(file: str) -> bytes:
    try:
        if file == STDIN:
            data = sys.stdin.buffer.read(BYTES_MAX + 1)
        else:
            with Path(file).open("rb") as opened:
                data = opened.read(BYTES_MAX + 1)
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror or error}") from None
    if len(data) > BYTES_MAX:
        raise UsageError(f"{file}: is longer than {BYTES_MAX} bytes; split it")
    return data


def _batches(entries: Sequence[ScheduleEntry], place: Place) -> list[list[ScheduleEntry]]:
    """What is sent together: by number, and to a server, whose bodies are bounded, by size."""
    batches: list[list[ScheduleEntry]] = []
    room = 0
    for one in entries:
        size = len(encode(one)) if place.server else 0
        if not batches or len(batches[-1]) == BATCH or size > room:
            batches.append([])
            room = SENT_BYTES_MAX
        batches[-1].append(one)
        room -= size
    return batches


def _sent(
    caller: Caller, batches: Sequence[list[ScheduleEntry]], source: str, label: str, *, dry_run: bool = False
) -> list[AppliedEntry]:
    """What becomes of each, a batch at a time."""
    found: list[AppliedEntry] = []
    with Progress(sum(map(len, batches)), label) as progress:
        for batch in batches:
            request = ApplySchedulesRequest(schedules=batch, source=source, dry_run=dry_run)
            found += caller.call(apply_schedules, request).items
            progress.reached(len(found))
    return found


def _refuse(file: str, found: Sequence[AppliedEntry]) -> None:
    refused = [one for one in found if one.change == REFUSED]
    if not refused:
        return
    for one in refused[:TOLD_MAX]:
        click.echo(f"{file}: schedule {one.schedule_id}: {one.trouble}", err=True)
    raise UsageError(
        f"{file}: {len(refused)} of {len(found)} schedules are refused; correct them and apply it again"
    )


def _gone(caller: Caller, source: str, there: set[str]) -> list[str]:
    gone: list[str] = []
    after: str | None = None
    while True:
        request = ListSchedulesRequest(label=f"{SOURCE_LABEL}={source}", limit=LIMIT_MAX, after=after)
        page = caller.call(list_schedules, request)
        gone += [one.schedule_id for one in page.items if one.schedule_id not in there]
        after = page.next
        if after is None:
            return gone


def _remove(caller: Caller, gone: Sequence[str]) -> None:
    with Progress(len(gone), "removing") as progress:
        for number, schedule_id in enumerate(gone, 1):
            caller.call(remove_schedule, ChangeScheduleRequest(schedule_id=schedule_id))
            progress.reached(number)


def _print(found: Sequence[AppliedEntry], gone: Sequence[str], dry_run: bool, as_json: bool) -> None:
    by_change = {name: [one for one in found if one.change == name] for name in (CREATED, CHANGED, UNCHANGED)}
    if as_json:
        print_json(
            {
                CREATED: [one.schedule_id for one in by_change[CREATED]],
                CHANGED: {one.schedule_id: one.changes for one in by_change[CHANGED]},
                "removed": list(gone),
                UNCHANGED: len(by_change[UNCHANGED]),
                "dry_run": dry_run,
            }
        )
        return
    for one in by_change[CREATED]:
        click.echo(f"+ {one.schedule_id}")
    for one in by_change[CHANGED]:
        click.echo("\n    ".join([f"~ {one.schedule_id}", *one.changes]))
    for schedule_id in gone:
        click.echo(f"- {schedule_id}")
    counts = {**{name: len(some) for name, some in by_change.items()}, "removed": len(gone)}
    said = ", ".join(f"{count} {name}" for name, count in counts.items())
    click.echo(f"= {said}{'; dry run, nothing is written' if dry_run else ''}")
