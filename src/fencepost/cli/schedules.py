"""`fencepost schedules`: what runs when."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

import click

from fencepost.cli.options import Place, ask, changes_store, in_store, json_option, tz_option
from fencepost.cli.output import print_json
from fencepost.cli.spec_options import Given, describes_schedule
from fencepost.errors import UsageError

if TYPE_CHECKING:
    from fencepost.model.schedule import Schedule, ScheduleSpec, ScheduleVersion
    from fencepost.services.control import Control
    from fencepost.services.desks.schedules import Resumed

id_argument = click.argument("schedule_id", metavar="ID")
time_argument = click.argument("time", metavar="TIME")


@click.group()
def schedules() -> None:
    """Look at schedules and change them.

    \b
    Example:
      fencepost schedules add hourly-eu --job report --every 1h --payload '{"region": "eu"}'
    """


@schedules.command("list")
@tz_option
@in_store
@json_option
def list_schedules(tz: str | None, place: Place, as_json: bool) -> None:
    """List all schedules that are not removed.

    \b
    Example:
      fencepost schedules list --json
    """
    from fencepost.cli.shapes import schedule_json

    found = ask(place, _all)
    if as_json:
        print_json([schedule_json(one) for one in found])
    elif found:
        from fencepost.cli.schedule_views import print_schedules

        print_schedules(found, tz)
    else:
        click.echo("no schedules", err=True)


@schedules.command()
@id_argument
@tz_option
@in_store
@json_option
def show(schedule_id: str, tz: str | None, place: Place, as_json: bool) -> None:
    """Show one schedule, its next fire times, and what changes of the clocks do to them.

    \b
    Example:
      fencepost schedules show invoices --tz Europe/Berlin
    """
    from fencepost.cli.outlook import look_ahead

    outlook = ask(place, lambda control: look_ahead(control, schedule_id))
    if as_json:
        from fencepost.cli.shapes import outlook_json

        print_json(outlook_json(outlook))
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
    from fencepost.cli.specs import new_spec

    spec = new_spec(given)
    added, warnings = ask(place, lambda control: _add(control, schedule_id, spec, given))
    _report(added, f"added, version {added.version}", as_json, warnings)


@schedules.command()
@id_argument
@describes_schedule
@changes_store
@json_option
def edit(schedule_id: str, given: Given, place: Place, as_json: bool) -> None:
    """Change what is given and leave the rest; ticks from now on follow the new version.

    A label without a value (--label team=) is taken away; so are a start, an end, a number of runs, a spread
    or a jitter that is `none`.

    \b
    Example:
      fencepost schedules edit nightly --cron "45 2 * * *" --spread none
    """
    if given.nothing:
        raise UsageError(f"schedule {schedule_id}: nothing to change; give at least one option")
    old_version, edited, warnings = ask(place, lambda control: _edit(control, schedule_id, given))
    said = f"version {edited.version}" if edited.version != old_version else "unchanged"
    _report(edited, said, as_json, warnings)


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
    _report(ask(place, lambda control: _pause(control, schedule_id)), "paused", as_json)


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
    resumed = ask(place, lambda control: control.schedules.resume(schedule_id, catch_up=not no_catch_up))
    if as_json:
        from fencepost.cli.shapes import resumed_json

        print_json(resumed_json(resumed))
    else:
        click.echo(f"schedule {schedule_id}: active; {_of_the_pause(resumed, tz)}")


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
    ask(place, lambda control: control.schedules.remove(schedule_id))
    if as_json:
        print_json({"schedule_id": schedule_id, "state": "removed"})
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
    run_key = ask(place, lambda control: control.schedules.trigger(schedule_id))
    if as_json:
        print_json({"run_key": run_key})
    else:
        click.echo(run_key)


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
    from fencepost.cli.runs import answer, skipped

    fire_time = _fire_time(time, tz)
    run = ask(place, lambda control: control.schedules.skip(schedule_id, fire_time))
    answer(context, run, skipped, as_json)


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
    from fencepost.cli.runs import answer, held

    fire_time = _fire_time(time, tz)
    run = ask(place, lambda control: control.schedules.hold(schedule_id, fire_time))
    answer(context, run, held, as_json)


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
    from fencepost.cli.runs import answer, released

    fire_time = _fire_time(time, tz)
    run = ask(place, lambda control: control.schedules.release(schedule_id, fire_time))
    answer(context, run, released, as_json)


@schedules.command()
@id_argument
@tz_option
@in_store
@json_option
def history(schedule_id: str, tz: str | None, place: Place, as_json: bool) -> None:
    """Show all versions of a schedule and what each changed, also of a removed one.

    \b
    Example:
      fencepost schedules history nightly
    """
    from fencepost.cli.shapes import version_json

    versions = ask(place, lambda control: control.schedules.history(schedule_id))
    changed = _changes(versions)
    if as_json:
        print_json([version_json(one, said) for one, said in zip(versions, changed, strict=True)])
        return
    from fencepost.cli.schedule_views import print_version

    for one, said in zip(versions, changed, strict=True):
        print_version(schedule_id, one, said, tz)


async def _all(control: Control) -> list[Schedule]:
    return [one async for one in control.schedules.all()]


async def _add(
    control: Control, schedule_id: str, spec: ScheduleSpec, given: Given
) -> tuple[Schedule, list[str]]:
    from fencepost.cli.specs import limited

    added = await control.schedules.add(schedule_id, limited(spec, given, await control.store.now()))
    return added, await control.schedules.caveats(added)


async def _edit(control: Control, schedule_id: str, given: Given) -> tuple[int, Schedule, list[str]]:
    from fencepost.cli.specs import changed_spec, limited

    old = await control.schedules.get(schedule_id)
    spec = limited(changed_spec(old.spec, given), given, await control.store.now())
    new = await control.schedules.edit(schedule_id, spec, old.version)
    return old.version, new, await control.schedules.caveats(new)


async def _pause(control: Control, schedule_id: str) -> Schedule:
    """The schedule as it stands after it."""
    await control.schedules.pause(schedule_id)
    return await control.schedules.get(schedule_id)


def _of_the_pause(resumed: Resumed, tz: str | None) -> str:
    from fencepost.cli.output import shown_time

    if resumed.caught_up_from is None:
        return "nothing of the pause fires"
    begins = shown_time(resumed.caught_up_from, tz)
    return f"the pause will be caught up from {begins} on: {resumed.schedule.spec.catch_up.words}"


def _fire_time(text: str, tz: str | None) -> datetime:
    from fencepost.cli.reading import read_time

    return read_time("TIME", text, tz)


def _changes(versions: Sequence[ScheduleVersion]) -> list[list[str]]:
    from fencepost.cli.specs import changes

    return [[], *(changes(old.spec, new.spec) for old, new in pairwise(versions))]


def _report(schedule: Schedule, said: str, as_json: bool, warnings: Sequence[str] | None = None) -> None:
    from fencepost.cli.shapes import schedule_json

    for one in warnings or ():
        click.echo(f"warning: {one}", err=True)
    if as_json:
        found = schedule_json(schedule)
        print_json(found if warnings is None else {**found, "warnings": list(warnings)})
    else:
        click.echo(f"schedule {schedule.schedule_id}: {said}")
