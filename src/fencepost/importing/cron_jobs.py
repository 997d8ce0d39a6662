"""From the lines of a crontab to a manifest that does the same.

What cron does is kept, also where Fencepost's own default is another: runs of one line may overlap, and a
failed one is not tried again. What cannot be kept is said. A line is carried over as it meant to cron, or it
is left out: never in a form that does something else.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import assert_never

from fencepost.errors import InvalidSpec, InvalidTrigger
from fencepost.importing.crontab import BYTE_ORDER_MARK, Entry, Setting, Unreadable, read_crontab
from fencepost.importing.names import Names, program_name
from fencepost.importing.report import Imported, Report, lines
from fencepost.importing.shell import (
    KNOWN_SHELLS,
    SHELL_DEFAULT,
    Broken,
    NeedsShell,
    read_words,
    split_stdin,
    with_stdin,
)
from fencepost.importing.toml import CommandJob, CronSchedule, write_manifest
from fencepost.model.quoting import quoted
from fencepost.triggers import Cron, zone
from fencepost.triggers.cron import fields as cron_fields

REBOOT = "@reboot"
CRON_FIELDS = (
    *(cron_fields.MINUTE, cron_fields.HOUR, cron_fields.DAY, cron_fields.MONTH, cron_fields.WEEKDAY),
)
WHOLE_FILE = "file"
KEPT = "the end of a run's output is kept with the run: fencepost runs show KEY"
WHERE_IT_RUNS = (
    "cron starts commands in the user's home, with PATH=/usr/bin:/bin unless set; "
    f"Fencepost starts them in its own folder, with PATH=/usr/local/bin:/usr/bin:/bin unless set; {KEPT}"
)
MAIL = frozenset({"MAILTO", "MAILFROM", "CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING"})
IDENTITY = frozenset({"LOGNAME", "USER"})
DELAYS = frozenset({"RANDOM_DELAY", "START_HOURS_RANGE"})
USER_COLUMNS = frozenset({"root", "nobody", "www-data"})

# Cron has numbers, names, ranges, lists and steps; our expressions have these too.
_BEYOND_CRON = re.compile(r"[?#+]|LW|(?<![A-Za-z])[HLW](?![A-Za-z])|[0-9](?:L|W)|[A-Z]{3}L", re.IGNORECASE)


@dataclass(frozen=True)
class Options:
    """How to read a crontab: in `tz` where that was chosen, else in `local_tz`."""

    source: str = "crontab"
    system: bool = False
    tz: str | None = None
    local_tz: str = "UTC"


def import_crontab(text: str, options: Options) -> Imported:
    """The manifest of a crontab, and what to know about it."""
    reading = _CrontabReading(options)
    for line in read_crontab(text, system=options.system):
        match line:
            case Setting():
                reading.set(line)
            case Entry():
                reading.add(line)
            case Unreadable():
                reading.report.left_out(lines([line.line]), line.why)
            case _:
                assert_never(line)
    reading.conclude(text)
    heading = [
        f"Imported from {options.source} by `fencepost import crontab`.",
        "As in cron, runs may overlap and a failed run is not tried again: change overlap and retry at will.",
    ]
    manifest = write_manifest(heading, reading.jobs.values(), reading.schedules)
    return Imported(manifest, tuple(one.schedule_id for one in reading.schedules), reading.report)


@dataclass
class _CrontabReading:
    """What was read so far: the settings in force, and what came of the lines."""

    options: Options
    report: Report = field(default_factory=Report)
    jobs: dict[object, CommandJob] = field(default_factory=dict)
    schedules: list[CronSchedule] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    shell: str = SHELL_DEFAULT
    cron_tz: str | None = None
    command_tz: str | None = None
    job_names: Names = field(default_factory=Names)
    schedule_ids: Names = field(default_factory=Names)
    users: dict[str, list[int]] = field(default_factory=dict)
    unzoned: list[int] = field(default_factory=list)
    suspects: list[int] = field(default_factory=list)

    def set(self, setting: Setting) -> None:
        """Bring a variable into force for the lines below."""
        for names, act in _SETTINGS:
            if setting.name in names:
                act(self, setting)
                return
        self.carry(setting)

    def carry(self, setting: Setting, remark: str = "") -> None:
        """Put a variable into the environment of the jobs below."""
        self.environment[setting.name] = setting.value
        dollar = "; neither cron nor Fencepost expands the $ in it" if "$" in setting.value else ""
        self.note_setting(setting, f"carried into the environment of the jobs below{remark}{dollar}")

    def note_setting(self, setting: Setting, text: str) -> None:
        self.report.note(lines([setting.line]), f"{setting.name}: {text}")

    def look_setting(self, setting: Setting, text: str) -> None:
        self.report.look(lines([setting.line]), f"{setting.name}: {text}")

    def add(self, entry: Entry) -> None:
        """Carry one line over, or leave it out."""
        with self.report.leaving_out(lines([entry.line])):
            trigger = self._trigger(entry)
            argv, remark = self._argv(entry.command)
            self._note_line(entry, trigger.expression, remark)
            name = program_name(split_stdin(entry.command)[0])
            job = self._job(name, argv)
            self.schedules.append(
                CronSchedule(
                    self.schedule_ids.unique(name),
                    job.name,
                    trigger.expression,
                    trigger.tz,
                    lines([entry.line]),
                )
            )

    def conclude(self, text: str) -> None:
        """What is to be said of the file as a whole."""
        for user, numbers in self.users.items():
            where = f"ran as {quoted(user)}; Fencepost runs every command as its own user"
            self.report.look(lines(numbers), where)
        if self.suspects:
            text_of = (
                "the command begins with the name of a user; is this a system's crontab? then add --system"
            )
            self.report.look(lines(self.suspects), text_of)
        if self.unzoned:
            zone_said = (
                f"no zone is named; read in {self.options.local_tz}, this machine's own; --tz chooses another"
            )
            self.report.look(lines(self.unzoned), zone_said)
        if text.startswith(BYTE_ORDER_MARK):
            self.report.note(WHOLE_FILE, "begins with a byte order mark, which was passed over")
        if "\r\n" in text:
            self.report.note(
                WHOLE_FILE, "has Windows line ends, which cron would take for a part of each command"
            )
        if self.schedules:
            self.report.note(WHOLE_FILE, WHERE_IT_RUNS)

    def _trigger(self, entry: Entry) -> Cron:
        if entry.expression.lower() == REBOOT:
            remedy = "start the command from the service manager of the machine"
            raise InvalidTrigger(f"{REBOOT}: Fencepost has no boot to wait for; {remedy}")
        words = entry.expression.split()
        if len(words) == len(CRON_FIELDS):
            words = [cron_fields.forwards(spec, word) for spec, word in zip(CRON_FIELDS, words, strict=True)]
        expression = " ".join(words)
        if expression != " ".join(entry.expression.split()):
            said = "has a range that runs backwards, past the end and on; Debian's cron would refuse it"
            self.report.look(lines([entry.line]), f"{said}. Carried over as {expression}")
        return Cron(expression, tz=self._zone())

    def _zone(self) -> str:
        return self._named_zone() or self.options.local_tz

    def _named_zone(self) -> str | None:
        return self.cron_tz or self.options.tz or self.command_tz

    def _argv(self, text: str) -> tuple[tuple[str, ...], str | None]:
        """The command as arguments, and a remark where they are a shell's."""
        command, stdin = split_stdin(text)
        words = read_words(command)
        if isinstance(words, Broken):
            raise InvalidSpec(words.why)
        known = self.shell.rpartition("/")[2] in KNOWN_SHELLS
        if stdin:
            if isinstance(words, NeedsShell) or not known:
                remedy = "move the line into a script that reads its own input"
                raise InvalidSpec(f"has standard input after a % for more than one plain command; {remedy}")
            said = f"the text after % becomes a here-document; carried over as {self.shell} -c"
            return (self.shell, "-c", with_stdin(command, stdin)), said
        if isinstance(words, NeedsShell):
            return (
                self.shell,
                "-c",
                command,
            ), f"needs a shell because of {words.because}; {self._as_shell()}"
        if not known:
            return (self.shell, "-c", command), f"SHELL is {quoted(self.shell)}; {self._as_shell()}"
        if "/" in words[0] and not words[0].startswith("/"):
            raise InvalidSpec(f"{quoted(words[0])} is relative to the user's home; write the whole path")
        return words, None

    def _as_shell(self) -> str:
        return f"carried over as {self.shell} -c"

    def _note_line(self, entry: Entry, expression: str, remark: str | None) -> None:
        where = lines([entry.line])
        if remark is not None:
            self.report.note(where, remark)
        if _BEYOND_CRON.search(expression) and not expression.startswith("@"):
            self.report.look(
                where, f"cron itself refuses {quoted(expression)}; it now means what it says here"
            )
        if self._named_zone() is None:
            self.unzoned.append(entry.line)
        if entry.user is not None:
            self.users.setdefault(entry.user, []).append(entry.line)
        elif entry.command.partition(" ")[0] in USER_COLUMNS:
            self.suspects.append(entry.line)

    def _job(self, name: str, argv: tuple[str, ...]) -> CommandJob:
        """A job; two lines that run the same in the same environment share one."""
        same = (argv, tuple(sorted(self.environment.items())))
        if same not in self.jobs:
            self.jobs[same] = CommandJob(self.job_names.unique(name), argv, dict(self.environment))
        return self.jobs[same]


def _mail(reading: _CrontabReading, setting: Setting) -> None:
    reading.look_setting(setting, f"mail is not sent; {KEPT}")


def _identity(reading: _CrontabReading, setting: Setting) -> None:
    reading.look_setting(setting, "not carried over; Fencepost runs every command as its own user")


def _delay(reading: _CrontabReading, setting: Setting) -> None:
    reading.look_setting(setting, "not carried over; give the schedules below spread or jitter")


def _shell(reading: _CrontabReading, setting: Setting) -> None:
    reading.shell = setting.value or SHELL_DEFAULT
    reading.carry(setting, ", and reads the lines that need a shell")


def _home(reading: _CrontabReading, setting: Setting) -> None:
    reading.carry(setting)
    reading.look_setting(setting, "cron changed into it; Fencepost does not, so give full paths")


def _cron_tz(reading: _CrontabReading, setting: Setting) -> None:
    reading.cron_tz = setting.value or None
    reading.note_setting(setting, "is the zone of the schedules below")


def _tz(reading: _CrontabReading, setting: Setting) -> None:
    reading.environment[setting.name] = setting.value
    try:
        reading.command_tz = zone(setting.value.removeprefix(":")).key
    except InvalidTrigger as error:
        reading.command_tz = None
        reading.look_setting(setting, f"carried into the environment alone, not into the schedules: {error}")
        return
    beaten = reading.cron_tz or reading.options.tz
    said = f"carried into the environment alone; the schedules are in {beaten}"
    taken = "is the zone of the schedules below; many crons mean the command alone, and then --tz is right"
    reading.look_setting(setting, said if beaten else taken)


_SETTINGS: tuple[tuple[frozenset[str], Callable[[_CrontabReading, Setting], None]], ...] = (
    (MAIL, _mail),
    (IDENTITY, _identity),
    (DELAYS, _delay),
    (frozenset({"SHELL"}), _shell),
    (frozenset({"HOME"}), _home),
    (frozenset({"CRON_TZ"}), _cron_tz),
    (frozenset({"TZ"}), _tz),
)
