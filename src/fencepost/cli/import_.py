"""`fencepost import`: schedules from other schedulers."""

from __future__ import annotations

import functools
import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from fencepost.cli.faults import FINE, NO, one_line
from fencepost.cli.nouns import import_group
from fencepost.cli.options import Command, json_option
from fencepost.cli.output import GAP, print_json
from fencepost.errors import UsageError
from fencepost.importing.apscheduler import import_apscheduler
from fencepost.importing.celery_beat import import_celery_beat
from fencepost.importing.cron_jobs import Options, import_crontab
from fencepost.importing.report import Imported, Weight
from fencepost.model.dataclasses import dataclass
from fencepost.triggers import zone, zone_names

BYTES_MAX = 16 * 1024 * 1024
STDIN = "-"
SYSTEM_FILE, SYSTEM_FOLDER = Path("/etc/crontab"), Path("/etc/cron.d")
LOCAL_TIME = Path("/etc/localtime")
ZONES = "/zoneinfo/"
SQLITE = b"SQLite format 3\0"
PICKLED = "a job store of APScheduler holds pickles, and to load a pickle is to run the code in it"
EXPORT = "call scheduler.export_jobs('jobs.json') with APScheduler 3.11 and import that file"
WORDS = {"left_out": "left out", "look": "look at", "note": "note"}
WIDTH = max(map(len, WORDS.values()))


@dataclass(frozen=True)
class Delivery:
    """Where the result goes, and how it is told."""

    out: str | None
    force: bool
    strict: bool
    as_json: bool


def delivered(command: Command) -> Command:
    """Give a command `--out`, `--force`, `--strict` and `--json`, handed over as one `delivery`."""

    @click.option("--out", metavar="FILE", help="Write to this file, not to stdout.")
    @click.option("--force", is_flag=True, help="Overwrite the file that --out names.")
    @click.option("--strict", is_flag=True, help="Exit 1 if something was left out.")
    @json_option
    @functools.wraps(command)
    def with_delivery(
        *args: Any, out: str | None, force: bool, strict: bool, as_json: bool, **options: Any
    ) -> Any:
        return command(*args, delivery=Delivery(out, force, strict, as_json), **options)

    return with_delivery


@import_group.command()
@click.argument("file", metavar="FILE")
@click.option(
    "--system/--user",
    default=None,
    help="Whether lines have a column with a user; those of /etc/crontab and /etc/cron.d do.",
)
@click.option("--tz", metavar="ZONE", help="The zone that cron ran in; this machine's own unless given.")
@delivered
def crontab(file: str, system: bool | None, tz: str | None, delivery: Delivery) -> int:
    """Turn a crontab into a fencepost.toml.

    A line of plain words becomes a command without a shell, any other one `/bin/sh -c`. What cron does is
    kept: runs may overlap, and a failed one is not tried again. FILE may be - for stdin.

    \b
    Example:
      fencepost import crontab /etc/crontab --out fencepost.toml
      crontab -l | fencepost import crontab - --tz Europe/Berlin > fencepost.toml
    """
    options = Options(
        source="stdin" if file == STDIN else file,
        system=_is_system(file) if system is None else system,
        tz=None if tz is None else _checked_zone(tz),
        local_tz=_local_zone(),
    )
    return _deliver(import_crontab(_read_text(file), options), delivery)


@import_group.command()
@click.argument("file", metavar="FILE")
@delivered
def apscheduler(file: str, delivery: Delivery) -> int:
    """Turn the jobs that APScheduler exported into a Python module.

    FILE is what `scheduler.export_jobs('jobs.json')` of APScheduler 3.11 wrote, or - for stdin. A job store
    itself is not read: it holds pickles, and to load a pickle is to run the code in it.

    \b
    Example:
      fencepost import apscheduler jobs.json --out schedules.py
    """
    if "://" in file:
        raise UsageError(f"{file.partition('://')[0]}://…: {PICKLED}; {EXPORT}")
    data = _read_bytes(file)
    if data.startswith(SQLITE):
        raise UsageError(f"{file}: {PICKLED}; {EXPORT}")
    return _deliver(import_apscheduler(_decoded(data, file), file), delivery)


@import_group.command("celery-beat")
@click.argument("source", metavar="SOURCE")
@delivered
def celery_beat(source: str, delivery: Delivery) -> int:
    """Turn the periodic tasks of Celery beat into a Python module.

    SOURCE is what `python manage.py dumpdata django_celery_beat` printed, or - for stdin; or module:app, the
    Celery application whose beat_schedule to read. Its modules are imported, and no task is sent.

    \b
    Example:
      fencepost import celery-beat beat.json --out schedules.py
      fencepost import celery-beat proj:app --out schedules.py
    """
    file = source
    if ":" in source and not Path(source).exists():
        from fencepost.app.celery import imported
        from fencepost.contrib.celery.dump import dumped

        found = dumped(imported(source))
        dump = json.dumps(found.rows)
        return _deliver(import_celery_beat(dump, source, source, found.unfit, found.doubtful), delivery)
    return _deliver(import_celery_beat(_read_text(file), file), delivery)


def _deliver(imported: Imported, delivery: Delivery) -> int:
    if delivery.out is not None:
        _write(delivery.out, imported.text, delivery.force)
    if delivery.as_json:
        print_json(_imported_json(imported, delivery.out))
    else:
        if delivery.out is None:
            click.echo(imported.text, nl=False)
        _print_report(imported)
    left_out = imported.report.count(Weight.LEFT_OUT)
    return NO if delivery.strict and left_out else FINE


def _imported_json(imported: Imported, out: str | None) -> dict[str, Any]:
    return {
        "file": out,
        "text": imported.text if out is None else None,
        "schedules": list(imported.schedules),
        "remarks": [
            {"weight": str(one.weight), "where": one.where, "text": one.text}
            for one in imported.report.remarks
        ],
    }


def _print_report(imported: Imported) -> None:
    """What was carried over, and every remark, the weightiest first."""
    report = imported.report
    counts = f"{report.count(Weight.LEFT_OUT)} left out, {report.count(Weight.LOOK)} to look at"
    click.echo(f"{len(imported.schedules)} carried over, {counts}", err=True)
    for weight in Weight:
        for remark in report.remarks:
            if remark.weight is weight:
                said = one_line(f"{remark.where}: {remark.text}")
                click.echo(f"{WORDS[weight].ljust(WIDTH)}{GAP}{said}", err=True)


def _write(path: str, text: str, force: bool) -> None:
    try:
        with Path(path).open("w" if force else "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"--out {path}: is there already; choose another name, or add --force") from None
    except OSError as error:
        raise UsageError(f"--out {path}: cannot be written: {error.strerror or error}") from None


def _read_text(file: str) -> str:
    return _decoded(_read_bytes(file), file)


def _read_bytes(file: str) -> bytes:
    try:
        if file == STDIN:
            data = sys.stdin.buffer.read(BYTES_MAX + 1)
        else:
            with Path(file).open("rb") as source:
                data = source.read(BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        raise UsageError(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > BYTES_MAX:
        raise UsageError(f"{file}: is longer than {BYTES_MAX} bytes; import it in parts")
    return data


def _decoded(data: bytes, file: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        remedy = "convert it first, for example with iconv"
        raise UsageError(f"{file}: expected UTF-8 text, byte {error.start + 1} is none; {remedy}") from None


def _is_system(file: str) -> bool:
    path = Path(file).absolute()
    return path == SYSTEM_FILE or path.parent == SYSTEM_FOLDER


def _checked_zone(tz: str) -> str:
    try:
        return zone(tz).key
    except UsageError as error:
        raise UsageError(f"--tz: {error}") from None


def _local_zone() -> str:
    """The name of this machine's zone; UTC where nothing says it."""
    named = os.environ.get("TZ", "").removeprefix(":") or os.path.realpath(LOCAL_TIME).rpartition(ZONES)[2]
    return named if named in zone_names() else "UTC"
