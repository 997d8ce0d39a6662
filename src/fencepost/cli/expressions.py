"""EXPR and the options around it: what `fencepost next` and `fencepost explain` are asked about."""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from fencepost.cli.options import Command
from fencepost.cli.reading import read_time
from fencepost.errors import UsageError

if TYPE_CHECKING:
    from fencepost.manifest.words import Words
    from fencepost.triggers import Combinable

EVERY = "every "
RULE_STARTS = ("FREQ=", "RRULE:", "DTSTART")
FORM_START = "{"
NAMES = {"cron": "a cron expression", "every": "an interval", "rrule": "a recurrence rule"}

PARAMETERS = (
    click.argument("expression", metavar="EXPR"),
    click.option("--tz", metavar="ZONE", help="The zone of the wall times; UTC unless given."),
    click.option("--after", metavar="TIME", help="Fire times later than this; now unless given."),
    click.option("--gap", type=click.Choice(["shift", "skip"]), help="When the clocks skip the time."),
    click.option("--fold", type=click.Choice(["first", "last", "both"]), help="When they show it twice."),
    click.option(
        "--anchor", metavar="TIME", help="Where an interval or a rule begins to count; 1970 unless given."
    ),
    click.option("--id", "schedule_id", metavar="ID", help="The schedule whose id an H is hashed by."),
)


@dataclass(frozen=True)
class Asked:
    """An expression, and how it is to be read."""

    expression: str
    tz: str | None
    after: str | None
    gap: str | None
    fold: str | None
    anchor: str | None
    schedule_id: str | None

    def trigger(self) -> Combinable:
        """The trigger that the expression means."""
        from fencepost.cli.voices import OptionVoice
        from fencepost.triggers import zone
        from fencepost.triggers.series import Binding

        if self.tz is not None:
            with OptionVoice().blaming("tz"):
                zone(self.tz)
        trigger = self._form() if self.expression.lstrip().startswith(FORM_START) else self._built()
        if self.schedule_id is not None and not trigger.calendar_names():
            return trigger.bound(Binding(self.schedule_id))
        if trigger.is_hashed():
            raise UsageError(f"{trigger.describe()}: H is hashed by a schedule's id; give it with --id")
        return trigger

    def moment(self) -> datetime:
        """The instant after which it is asked about."""
        from fencepost.clock import SystemClock

        return (
            SystemClock().wall() if self.after is None else read_time("--after", self.after, self.tz or "UTC")
        )

    def _built(self) -> Combinable:
        from fencepost.cli.voices import OptionVoice
        from fencepost.manifest.words import build

        text = self.expression.strip()
        return build(
            self._interval(text) if _kind(text) == "every" else self._words(text), OptionVoice(NAMES)
        )

    def _words(self, text: str) -> Words:
        from fencepost.manifest.words import Words

        kind: dict[str, Any] = {_kind(text): text}
        return Words(tz=self.tz, gap=self.gap, fold=self.fold, anchor=self.anchor, **kind)

    def _interval(self, text: str) -> Words:
        from fencepost.manifest.words import Words, is_calendar_step

        words = Words(
            every=text[len(EVERY) :].strip(), tz=self.tz, gap=self.gap, fold=self.fold, anchor=self.anchor
        )
        if is_calendar_step(words.every or ""):
            return words
        # Of an exact interval the zone says only how its anchor is read and where its times are shown.
        anchor = None if self.anchor is None else read_time("--anchor", self.anchor, self.tz or "UTC")
        return replace(words, anchor=anchor, tz=None)

    def _form(self) -> Combinable:
        from fencepost.cli.triggers import read_form

        for name in ("tz", "gap", "fold", "anchor"):
            if getattr(self, name) is not None:
                raise UsageError(
                    f"--{name}: has no meaning with the stable form of a trigger, which says it all"
                )
        return read_form(self.expression)


def takes_expression(command: Command) -> Command:
    """Give a command EXPR and its options, handed over as one `asked`."""

    @functools.wraps(command)
    def with_expression(*args: Any, **options: Any) -> Any:
        asked = Asked(**{one.name: options.pop(one.name) for one in fields(Asked)})
        return command(*args, asked=asked, **options)

    return functools.reduce(lambda inner, option: option(inner), reversed(PARAMETERS), with_expression)


def _kind(text: str) -> str:
    if text.upper().startswith(RULE_STARTS):
        return "rrule"
    return "every" if text.lower().startswith(EVERY) else "cron"
