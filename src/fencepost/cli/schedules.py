"""`fencepost schedules`: what runs when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fencepost.cli.applying import apply
from fencepost.cli.groups import CommandGroup
from fencepost.cli.options import Place, asks, changes_store, json_option, tz_option
from fencepost.cli.output import print_json
from fencepost.cli.spec_options import Given, describes_schedule
from fencepost.errors import UsageError

if TYPE_CHECKING:
    from fencepost.cli.runs import Account
    from fencepost.operations.operation import Operation
    from fencepost.operations.shapes.runs import RunShape
    from fencepost.operations.shapes.schedules import CaughtUp, EditedSchedule
    from fencepost.operations.ticks import ChangeTick

ALL = 1_000_000
id_argument = click.argument("schedule_id", metavar="ID")
time_argument = click.argument("time", metavar="TIME")


@click.group(cls=CommandGroup)
def schedules() -> None:
    """Look at schedules and change them.

    \b
    Example:
      fencepost schedules add hourly-eu --job report --every 1h --payload '{"region": "eu"}'
    """


schedules.add_command(apply)


@schedules.command("list")
@click.option("--text", metavar="TEXT", help="Only schedules whose id or job contains this.")
@click.option("--state", metavar="STATE", help="Only schedules in this state: active, paused or removed.")
@click.option("--job", metavar="JOB", help="Only schedules of this job.")
@click.option("--label", metavar="KEY[=VALUE]", help="Only schedules with this label.")
@click.option("--frozen", is_flag=True, help="Only schedules that a freeze holds.")
@tz_option
@asks
@json_option
def list_schedules(tz: str | None, place: Place, as_json: bool, **wanted: Any) -> None:
    """List all schedules that are not removed, or those that fit.

    \b
    Example:
      fencepost schedules list --json
      fencepost schedules list --label team=ops --state paused
    """
    from fencepost.cli.calling import pages
    from fencepost.operations.schedules import ListSchedules, list_schedules

    found = pages(place, list_schedules, ListSchedules(**_choice(wanted)), ALL)
    if as_json:
        print_json(found)
    elif found:
        from fencepost.cli.schedule_views import print_schedules

        print_schedules(found, tz)
    else:
        click.echo("no schedules", err=True)


@schedules.command()
@id_argument
@tz_option
@asks
@json_option
def show(schedule_id: str, tz: str | None, place: Place, as_json: bool) -> None:
    """Show one schedule, its next fire times, and what changes of the clocks do to them.

    \b
    Example:
      fencepost schedules show invoices --tz Europe/Berlin
    """
    from fencepost.cli.calling import call
    from fencepost.operations.schedules import OneSchedule, show_schedule

    outlook = call(place, show_schedule, OneSchedule(schedule_id=schedule_id))
    if as_json:
        print_json(outlook)
    else:
        from fencepost.cli.schedule_views import print_outlook

        print_outlook(outlook, tz)


@schedules.command()
@id_argument
@describes_schedule
@changes_store
@json_option
def add(schedule_id: str, given: Given, place: Place, as_json: bool) -> None:
    """Add a schedule; it plans from now on.

    \b
    Example:
      fencepost schedules add nightly --job backup --cron "30 2 * * *" --tz Europe/Berlin --spread 10m
      fencepost schedules add closing --job close --business-day -1 --at-time 18:00 --calendar de
    """
    from fencepost.cli.calling import call
    from fencepost.cli.specs import new_schedule
    from fencepost.operations.schedules import add_schedule

    added = call(place, add_schedule, new_schedule(schedule_id, given))
    _report(added, f"added, version {added.version}", as_json)


@schedules.command()
@id_argument
@describes_schedule
@click.option("--dry-run", is_flag=True, help="Show what would change, and write nothing.")
@changes_store
@json_option
def edit(schedule_id: str, given: Given, dry_run: bool, place: Place, as_json: bool) -> None:
    """Change what is given and leave the rest; ticks from now on follow the new version.

    A label without a value (--label team=) is taken away; so are a start, an end, a number of runs, a spread
    or a jitter that is `none`.

    \b
    Example:
      fencepost schedules edit nightly --cron "45 2 * * *" --spread none --dry-run
    """
    if given.nothing:
        raise UsageError(f"schedule {schedule_id}: nothing to change; give at least one option")
    from msgspec.structs import replace

    from fencepost.cli.calling import calling
    from fencepost.cli.specs import edited_schedule
    from fencepost.operations.schedules import OneSchedule, edit_schedule, show_schedule

    with calling(place) as caller:
        old = caller.call(show_schedule, OneSchedule(schedule_id=schedule_id))
        asked = replace(edited_schedule(old, given), dry_run=dry_run)
        edited = caller.call(edit_schedule, asked)
    said = f"version {edited.version}" if edited.version != old.version else "unchanged"
    _report(edited, "dry run, nothing is written" if dry_run else said, as_json)


@schedules.command()
@id_argument
@changes_store
@json_option
def pause(schedule_id: str, place: Place, as_json: bool) -> None:
    """Stop planning and withdraw what is planned.

    \b
    Example:
      fencepost schedules pause nightly
    """
    from fencepost.cli.calling import call
    from fencepost.operations.pausing import pause_schedule
    from fencepost.operations.schedules import ChangeSchedule

    paused = call(place, pause_schedule, ChangeSchedule(schedule_id=schedule_id))
    if as_json:
        print_json(paused)
    else:
        click.echo(f"schedule {schedule_id}: paused")


@schedules.command()
@id_argument
@click.option(
    "--no-catch-up", is_flag=True, help="Let nothing of the pause fire, whatever its catch-up says."
)
@tz_option
@changes_store
@json_option
def resume(schedule_id: str, no_catch_up: bool, tz: str | None, place: Place, as_json: bool) -> None:
    """Plan again from now on.

    A schedule that catches up (not `none`) also gets what of its pause lies within its --max-lateness, and
    after the last edit where it was edited meanwhile. The answer says from when on.

    \b
    Example:
      fencepost schedules resume nightly
      fencepost schedules resume nightly --no-catch-up
    """
    from fencepost.cli.calling import call
    from fencepost.operations.pausing import ResumeSchedule, resume_schedule

    asked = ResumeSchedule(schedule_id=schedule_id, catch_up=not no_catch_up)
    resumed = call(place, resume_schedule, asked)
    if as_json:
        print_json(resumed)
    else:
        click.echo(f"schedule {schedule_id}: active; {_of_the_pause(resumed.caught_up, tz)}")


@schedules.command()
@id_argument
@changes_store
@json_option
def remove(schedule_id: str, place: Place, as_json: bool) -> None:
    """Stop for good; the history stays.

    \b
    Example:
      fencepost schedules remove nightly
    """
    from fencepost.cli.calling import call
    from fencepost.operations.schedules import ChangeSchedule, remove_schedule

    removed = call(place, remove_schedule, ChangeSchedule(schedule_id=schedule_id))
    if as_json:
        print_json(removed)
    else:
        click.echo(f"schedule {schedule_id}: removed")


@schedules.command()
@id_argument
@changes_store
@json_option
def trigger(schedule_id: str, place: Place, as_json: bool) -> None:
    """Run one extra tick, now, and print its key.

    \b
    Example:
      fencepost schedules trigger nightly
    """
    from fencepost.cli.calling import call
    from fencepost.operations.schedules import ChangeSchedule, trigger_schedule

    triggered = call(place, trigger_schedule, ChangeSchedule(schedule_id=schedule_id))
    if as_json:
        print_json(triggered)
    else:
        click.echo(triggered.run_key)


@schedules.command()
@id_argument
@time_argument
@tz_option
@changes_store
@json_option
@click.pass_context
def skip(
    context: click.Context, schedule_id: str, time: str, tz: str | None, place: Place, as_json: bool
) -> None:
    """Call off the tick of one fire time, also one that is not planned yet.

    Exit 1 where it had begun or ended already.

    \b
    Example:
      fencepost schedules skip invoices 2026-12-25T06:00 --tz Europe/Berlin --reason holiday
    """
    from fencepost.cli.runs import skipped
    from fencepost.operations.ticks import skip_tick

    _change_tick(context, skip_tick, _tick(schedule_id, time, tz), skipped, place, as_json)


@schedules.command()
@id_argument
@time_argument
@tz_option
@changes_store
@json_option
@click.pass_context
def hold(
    context: click.Context, schedule_id: str, time: str, tz: str | None, place: Place, as_json: bool
) -> None:
    """Hold the tick of one fire time, also one that is not planned yet, until it is released.

    Exit 1 where it runs or has ended.

    \b
    Example:
      fencepost schedules hold invoices 2026-12-25T05:00:00Z --reason "waits for the audit"
    """
    from fencepost.cli.runs import held
    from fencepost.operations.ticks import hold_tick

    _change_tick(context, hold_tick, _tick(schedule_id, time, tz), held, place, as_json)


@schedules.command()
@id_argument
@time_argument
@tz_option
@changes_store
@json_option
@click.pass_context
def release(
    context: click.Context, schedule_id: str, time: str, tz: str | None, place: Place, as_json: bool
) -> None:
    """Release the tick of one fire time that somebody holds.

    Exit 1 where it does not wait.

    \b
    Example:
      fencepost schedules release invoices 2026-12-25T05:00:00Z
    """
    from fencepost.cli.runs import released
    from fencepost.operations.ticks import release_tick

    _change_tick(context, release_tick, _tick(schedule_id, time, tz), released, place, as_json)


@schedules.command()
@id_argument
@tz_option
@asks
@json_option
def history(schedule_id: str, tz: str | None, place: Place, as_json: bool) -> None:
    """Show all versions of a schedule and what each changed, also of a removed one.

    \b
    Example:
      fencepost schedules history nightly
    """
    from fencepost.cli.calling import pages
    from fencepost.operations.schedules import ListVersions, list_versions

    versions = pages(place, list_versions, ListVersions(schedule_id=schedule_id), ALL)
    if as_json:
        print_json(versions)
        return
    from fencepost.cli.schedule_views import print_version

    for one in versions:
        print_version(one, tz)


def _choice(wanted: dict[str, Any]) -> dict[str, Any]:
    """What was chosen of a list: the fields of a `ScheduleChoice`."""
    from fencepost.cli.reading import checked_choice
    from fencepost.model.schedule import ScheduleState

    given = {name: value for name, value in wanted.items() if value}
    if "state" in given:
        given["state"] = ScheduleState(checked_choice("--state", given["state"], list(ScheduleState)))
    return given


def _of_the_pause(caught_up: CaughtUp | None, tz: str | None) -> str:
    from fencepost.cli.output import shown_moment

    if caught_up is None:
        return "nothing of the pause fires"
    return f"the pause will be caught up from {shown_moment(caught_up.begins, tz)} on: {caught_up.mode}"


def _tick(schedule_id: str, time: str, tz: str | None) -> ChangeTick:
    from fencepost.cli.reading import read_time
    from fencepost.model.times import to_utc_text
    from fencepost.operations.ticks import ChangeTick

    return ChangeTick(schedule_id=schedule_id, fire_time=to_utc_text(read_time("TIME", time, tz)))


def _change_tick(
    context: click.Context,
    verb: Operation[Any, ChangeTick, RunShape],
    asked: ChangeTick,
    account: Account,
    place: Place,
    as_json: bool,
) -> None:
    from fencepost.cli.calling import call
    from fencepost.cli.runs import answer

    answer(context, call(place, verb, asked), account, as_json)


def _report(schedule: EditedSchedule, said: str, as_json: bool) -> None:
    from msgspec import UNSET

    from fencepost.cli.schedule_views import print_preview

    for one in schedule.warnings:
        click.echo(f"warning: {one}", err=True)
    if as_json:
        print_json(schedule)
        return
    click.echo(f"schedule {schedule.schedule_id}: {said}")
    if schedule.preview is not UNSET:
        print_preview(schedule.preview, None)
