"""`fencepost schedules`: what runs when."""

from __future__ import annotations

from collections.abc import Sequence

import click
from msgspec import UNSET
from msgspec.structs import replace

from fencepost.cli.calling import call, calling
from fencepost.cli.commands import command, listing
from fencepost.cli.nouns import schedules
from fencepost.cli.options import Place, changes_store, json_option
from fencepost.cli.output import print_json, shown_moment
from fencepost.cli.run_changes import changes, held, released, skipped
from fencepost.cli.schedule_views import print_outlook, print_preview, print_schedules, print_version
from fencepost.cli.specs import check_edit, check_new, describes_schedule
from fencepost.errors import UsageError
from fencepost.operations.pausing import pause_schedule, resume_schedule
from fencepost.operations.responses.schedules import (
    EditedSchedule,
    RemovedSchedule,
    ResumedResponse,
    ScheduleResponse,
    Triggered,
    VersionResponse,
)
from fencepost.operations.schedules import (
    AddScheduleRequest,
    EditScheduleRequest,
    ScheduleRequest,
    add_schedule,
    edit_schedule,
    list_schedules,
    list_versions,
    remove_schedule,
    show_schedule,
    trigger_schedule,
)
from fencepost.operations.ticks import hold_tick, release_tick, skip_tick

listing(
    list_schedules,
    schedules,
    "fencepost schedules list --json",
    "fencepost schedules list --label team=ops --state paused",
    none="no schedules",
    zoned=True,
)(print_schedules)
command(show_schedule, schedules, "fencepost schedules show invoices --tz Europe/Berlin", zoned=True)(
    print_outlook
)


@schedules.command()
@describes_schedule(AddScheduleRequest)
@changes_store
@json_option
def add(request: AddScheduleRequest, place: Place, as_json: bool) -> None:
    """Add a schedule; it plans from now on.

    \b
    Example:
      fencepost schedules add nightly --job backup --cron "30 2 * * *" --tz Europe/Berlin --spread 10m
      fencepost schedules add closing --job close --business-day -1 --at-time 18:00 --calendar de
    """
    check_new(request)
    added = call(place, add_schedule, request)
    _report(added, f"added, version {added.version}", as_json)


@schedules.command()
@describes_schedule(EditScheduleRequest)
@changes_store
@json_option
def edit(request: EditScheduleRequest, place: Place, as_json: bool) -> None:
    """Change what is given and leave the rest; ticks from now on follow the new version.

    A label without a value (--label team=) is taken away; so are a start, an end, a number of runs, a spread
    or a jitter that is `none`.

    \b
    Example:
      fencepost schedules edit nightly --cron "45 2 * * *" --spread none --dry-run
    """
    if request.nothing:
        raise UsageError(f"schedule {request.schedule_id}: nothing to change; give at least one option")
    with calling(place) as caller:
        old = caller.call(show_schedule, ScheduleRequest(schedule_id=request.schedule_id))
        check_edit(old, request)
        edited = caller.call(edit_schedule, replace(request, expected_version=old.version))
    said = f"version {edited.version}" if edited.version != old.version else "unchanged"
    _report(edited, "dry run, nothing is written" if request.dry_run else said, as_json)


@command(pause_schedule, schedules, "fencepost schedules pause nightly")
def _paused(found: ScheduleResponse) -> str:
    return f"schedule {found.schedule_id}: paused"


@command(
    resume_schedule,
    schedules,
    "fencepost schedules resume nightly",
    "fencepost schedules resume nightly --no-catch-up",
    zoned=True,
)
def _resumed(found: ResumedResponse, tz: str | None) -> str:
    caught_up = found.caught_up
    if caught_up is None:
        return f"schedule {found.schedule_id}: active; nothing of the pause fires"
    since = shown_moment(caught_up.begins, tz)
    said = f"the pause will be caught up from {since} on: {caught_up.mode}"
    return f"schedule {found.schedule_id}: active; {said}"


@command(remove_schedule, schedules, "fencepost schedules remove nightly")
def _removed(found: RemovedSchedule) -> str:
    return f"schedule {found.schedule_id}: removed"


@command(trigger_schedule, schedules, "fencepost schedules trigger nightly")
def _triggered(found: Triggered) -> str:
    return found.run_key


@listing(list_versions, schedules, "fencepost schedules history nightly", name="history", none="", zoned=True)
def _versions(found: Sequence[VersionResponse], tz: str | None) -> None:
    for one in found:
        print_version(one, tz)


changes(
    schedules,
    skip_tick,
    skipped,
    "fencepost schedules skip invoices 2026-12-25T06:00 --tz Europe/Berlin --reason holiday",
    more="Exit 1 where it had begun or ended already.",
)
changes(
    schedules,
    hold_tick,
    held,
    'fencepost schedules hold invoices 2026-12-25T05:00:00Z --reason "waits for the audit"',
    more="Exit 1 where it runs or has ended.",
)
changes(
    schedules,
    release_tick,
    released,
    "fencepost schedules release invoices 2026-12-25T05:00:00Z",
    more="Exit 1 where it does not wait.",
)


def _report(schedule: EditedSchedule, said: str, as_json: bool) -> None:
    for one in schedule.warnings:
        click.echo(f"warning: {one}", err=True)
    if as_json:
        print_json(schedule)
        return
    click.echo(f"schedule {schedule.schedule_id}: {said}")
    if schedule.preview is not UNSET:
        print_preview(schedule.preview, None)
