"""A crontab becomes a manifest that does the same, or the report says why not."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.importing.cron_jobs import Options, import_crontab
from fencepost.importing.crontab import LINE_LENGTH_MAX
from fencepost.importing.report import Imported, Remark, Weight
from fencepost.manifest.file import load_file

USER = Options(tz="UTC")
SYSTEM = Options(tz="UTC", system=True)
NOT_REMARKABLE = "cron starts commands in the user's home"


def manifest(text: str, options: Options = USER) -> dict[str, Any]:
    return tomllib.loads(import_crontab(text, options).text)


def only_job(text: str, options: Options = USER) -> dict[str, Any]:
    (job,) = manifest(text, options)["jobs"].values()
    return dict(job)


def only_schedule(text: str, options: Options = USER) -> dict[str, Any]:
    (schedule,) = manifest(text, options)["schedules"].values()
    return dict(schedule)


def remarks(imported: Imported) -> list[Remark]:
    return [one for one in imported.report.remarks if not one.text.startswith(NOT_REMARKABLE)]


def only_remark(text: str, options: Options = USER) -> Remark:
    (remark,) = remarks(import_crontab(text, options))
    return remark


def loads(text: str, folder: Path) -> list[str]:
    path = folder / "fencepost.toml"
    path.write_text(text, "utf-8")
    return list(load_file(path, {}).code_schedules)


@pytest.mark.parametrize(
    ("line", "expression"),
    [
        ("30 2 * * * x", "30 2 * * *"),
        ("  */5\t0-6  1,15 jan-MAR sun x", "*/5 0-6 1,15 jan-MAR sun"),
        ("0 0 13 * FRI x", "0 0 13 * FRI"),
        ("0 0 * * 7 x", "0 0 * * 7"),
        ("@daily x", "@daily"),
        ("@midnight\tx", "@midnight"),
        ("@annually x", "@annually"),
    ],
)
def test_a_line_keeps_its_time(line: str, expression: str) -> None:
    found = only_schedule(line)
    assert (found["cron"], found["tz"], found["job"]) == (expression, "UTC", "x")


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        ("/usr/bin/backup --all 'a b'", ["/usr/bin/backup", "--all", "a b"]),
        (r"date +\%F", ["date", "+%F"]),
        ("mail root%", ["mail", "root"]),
        ("cd /srv && make", ["/bin/sh", "-c", "cd /srv && make"]),
        (r"date +\%F > f", ["/bin/sh", "-c", "date +%F > f"]),
        ("mail root%hi%you", ["/bin/sh", "-c", "mail root <<'END'\nhi\nyou\nEND\n"]),
        ('x "tab\there"', ["x", "tab\there"]),
        ("x 'del\x7f \x1b'", ["x", "del\x7f \x1b"]),
    ],
)
def test_a_line_keeps_its_command(command: str, argv: list[str], tmp_path: Path) -> None:
    text = f"0 0 * * * {command}\n"
    assert only_job(text)["command"] == argv
    assert loads(import_crontab(text, USER).text, tmp_path)


def test_cron_neither_retries_nor_skips_and_so_do_we() -> None:
    assert only_job("@daily x")["retry"] == {"max_attempts": 1}
    assert only_schedule("@daily x")["overlap"] == "allow"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("@reboot x", "no boot to wait for"),
        ("@every_minute x", "is no macro"),
        ("61 * * * * x", 'cron "61 * * * *": minute 61 is out of range'),
        ("0 0 30 2 * x", "never fires"),
        ("0~30 * * * * x", "is not a value"),
        ("-5 * * * * x", "is not a value"),
        ("* * * *", "expected 5 fields of time and a command"),
        ("* * * * *", "expected 5 fields of time and a command"),
        ("* * * * * ", "expected 5 fields of time and a command"),
        ("@daily", "expected a word such as @daily and a command"),
        ("* * * * * x 'y", "the quote ' is never closed"),
        ("* * * * * a | b%in", "standard input after a %"),
        ("* * * * * %in", "names no program"),
        ("* * * * * bin/x", '"bin/x" is relative to the user'),
        ("* * * * * x\0y", "holds a NUL"),
        ("A='b", "A: the quote ' is not closed"),
        ("A='b' c", "A: the quote ' is not closed"),
        ("''=x", "no such name"),
        ("* * * * * " + "x" * LINE_LENGTH_MAX, "expected at most 100000"),
        ("hello", "expected 5 fields"),
    ],
)
def test_what_cannot_be_carried_over_is_left_out_with_its_line(line: str, said: str) -> None:
    imported = import_crontab(f"# first\n{line}\n", USER)
    (remark,) = remarks(imported)
    assert (remark.weight, remark.where, imported.schedules) == (Weight.LEFT_OUT, "line 2", ())
    assert said in remark.text


@pytest.mark.parametrize(
    ("line", "weight", "said"),
    [
        ("MAILTO=ops@example.org", Weight.LOOK, "MAILTO: mail is not sent"),
        ('MAILTO=""', Weight.LOOK, "fencepost runs show"),
        ("LOGNAME=x", Weight.LOOK, "LOGNAME: not carried over"),
        ("RANDOM_DELAY=45", Weight.LOOK, "spread or jitter"),
        ("TZ=Asia/Tokyo", Weight.LOOK, "the schedules are in UTC"),
        ("TZ=Mars/Olympus", Weight.LOOK, "not into the schedules"),
        ("FOO=bar", Weight.NOTE, "FOO: carried into the environment"),
        ("PATH=$HOME/bin", Weight.NOTE, "neither cron nor Fencepost expands"),
        ("CRON_TZ=Asia/Tokyo", Weight.NOTE, "is the zone of the schedules below"),
        ("0 0 LW * * x", Weight.LOOK, "cron itself refuses"),
        ("0 0 * * FRI#2 x", Weight.LOOK, "cron itself refuses"),
        ("H 0 * * * x", Weight.LOOK, "cron itself refuses"),
        ("0 0 * * * root x", Weight.LOOK, "--system"),
        ("0 0 * * * x | y", Weight.NOTE, 'needs a shell because of "|"; carried over as /bin/sh -c'),
        ("0 0 * * * x%y", Weight.NOTE, "here-document"),
        ("\ufeff0 0 * * * x", Weight.NOTE, "byte order mark"),
        ("0 0 * * * x\r\n", Weight.NOTE, "Windows line ends"),
    ],
)
def test_what_a_person_should_know_is_said(line: str, weight: Weight, said: str) -> None:
    remark = only_remark(f"{line}\n")
    assert remark.weight is weight
    assert said in remark.text


@pytest.mark.parametrize("line", ["0 0 1 JUL WED x", "0 0 * * FRI x", "@hourly x", "# c", "", " \t "])
def test_there_is_no_remark_without_a_reason(line: str) -> None:
    assert remarks(import_crontab(line, USER)) == []


def test_settings_count_for_the_lines_below_them_alone() -> None:
    text = 'A=1\n@daily x\nA = "2"\n\'B\'=" c "\nMAILTO=me\nD= e f \n@daily y\n'
    jobs = manifest(text)["jobs"]
    assert jobs["x"]["environment"] == {"A": "1"}
    assert jobs["y"]["environment"] == {"A": "2", "B": " c ", "D": "e f"}


def test_another_shell_reads_the_lines_that_need_one() -> None:
    bash = "SHELL=/bin/bash\n@daily a | b\n@daily plain\n"
    assert manifest(bash)["jobs"]["a"]["command"] == ["/bin/bash", "-c", "a | b"]
    assert manifest(bash)["jobs"]["plain"]["command"] == ["plain"]
    assert only_job("SHELL=/usr/bin/fish\n@daily plain\n")["command"] == ["/usr/bin/fish", "-c", "plain"]
    assert import_crontab("SHELL=/usr/bin/fish\n@daily plain%in\n", USER).schedules == ()


@pytest.mark.parametrize(
    ("settings", "tz", "found"),
    [
        ("", None, "Asia/Kathmandu"),
        ("", "Europe/Berlin", "Europe/Berlin"),
        ("TZ=Asia/Tokyo\n", None, "Asia/Tokyo"),
        ("TZ=:Asia/Tokyo\n", None, "Asia/Tokyo"),
        ("TZ=Asia/Tokyo\n", "Europe/Berlin", "Europe/Berlin"),
        ("TZ=CET-1CEST\n", None, "Asia/Kathmandu"),
        ("CRON_TZ=America/New_York\nTZ=Asia/Tokyo\n", "Europe/Berlin", "America/New_York"),
    ],
)
def test_the_nearest_zone_counts(settings: str, tz: str | None, found: str) -> None:
    options = Options(tz=tz, local_tz="Asia/Kathmandu")
    assert only_schedule(f"{settings}@daily x\n", options)["tz"] == found


def test_a_zone_of_the_command_is_also_in_its_environment() -> None:
    assert only_job("TZ=Asia/Tokyo\n@daily x\n")["environment"] == {"TZ": "Asia/Tokyo"}


def test_nothing_runs_in_a_zone_that_does_not_exist() -> None:
    imported = import_crontab("CRON_TZ=Mars/Olympus\n@daily x\n", USER)
    assert imported.schedules == ()
    assert "Mars/Olympus" in imported.report.remarks[-1].text


def test_an_unnamed_zone_is_said() -> None:
    remark = only_remark("@daily x\n\n@daily y\n", Options(local_tz="Asia/Tokyo"))
    assert (remark.weight, remark.where) == (Weight.LOOK, "lines 1, 3")
    assert "Asia/Tokyo" in remark.text


def test_the_user_column_is_read_and_reported() -> None:
    text = "17 *\t* * *\troot\tcd / && run-parts\n@daily www-data php x\n@daily root y\n"
    imported = import_crontab(text, SYSTEM)
    assert imported.schedules == ("run-parts", "x", "y")
    said = {one.where: one.text for one in imported.report.remarks if one.weight is Weight.LOOK}
    assert 'ran as "root"' in said["lines 1, 3"]
    assert 'ran as "www-data"' in said["line 2"]


def test_a_system_line_without_a_command_is_left_out() -> None:
    assert "a user and a command" in only_remark("@daily root", SYSTEM).text


def test_ids_are_unique_and_the_same_command_is_one_job() -> None:
    text = "@daily backup\n@weekly backup\n@daily backup --all\n@daily backup-2\n"
    found = manifest(text)
    assert list(found["jobs"]) == ["backup", "backup-2", "backup-2-2"]
    assert [(name, one["job"]) for name, one in found["schedules"].items()] == [
        ("backup", "backup"),
        ("backup-2", "backup"),
        ("backup-3", "backup-2"),
        ("backup-2-2", "backup-2-2"),
    ]


def test_an_import_is_stable() -> None:
    text = "A=1\n@daily x\n@daily x | y\n@weekly x\n"
    assert import_crontab(text, USER) == import_crontab(text, USER)


def test_an_empty_crontab_is_an_empty_manifest(tmp_path: Path) -> None:
    assert loads(import_crontab("", USER).text, tmp_path) == []


def test_no_value_of_a_variable_is_in_the_report() -> None:
    imported = import_crontab("PASSWORD=hunter2\n@daily x\n", USER)
    assert not any("hunter2" in one.text for one in imported.report.remarks)


PIECES = st.sampled_from(
    [
        "* * * * *",
        "@daily",
        "@reboot",
        "0 0 13 * FRI",
        "root",
        "A=",
        "=",
        "'",
        '"',
        "%",
        "\\%",
        "\\",
        "\t",
        " ",
        "#",
    ]
)
CRONTABS = st.lists(st.one_of(PIECES, st.text(max_size=8), st.just("\n"))).map(" ".join) | st.text()


@given(CRONTABS, st.booleans())
def test_any_text_is_imported_or_reported(text: str, system: bool) -> None:
    imported = import_crontab(text, Options(system=system))
    found = tomllib.loads(imported.text)
    assert list(found.get("schedules", {})) == list(imported.schedules)
    for schedule in found.get("schedules", {}).values():
        assert all("\0" not in word for word in found["jobs"][schedule["job"]]["command"])
        assert found["jobs"][schedule["job"]]["command"][0]


@given(st.lists(CRONTABS, max_size=3))
def test_whatever_is_imported_loads(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    imported = import_crontab("\n".join(texts), USER)
    assert loads(imported.text, tmp_path_factory.getbasetemp()) == list(imported.schedules)


def test_a_range_that_runs_backwards_is_written_forwards() -> None:
    found = import_crontab("0 22-2 * * fri-mon /bin/x\n", USER)
    assert 'cron = "0 22-23,0-2 * * 5-6,0-1"' in found.text
    assert any("runs backwards" in one.text for one in found.report.remarks)
