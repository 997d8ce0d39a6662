"""Whatever is wrong with a call: exit 2, nothing on stdout, one line on stderr that says the mend."""

import os
from pathlib import Path

import pytest

from tests.cli.calls import call, called, refused
from tests.cli.processes import started

NOBODY = "postgresql://nobody:secret@127.0.0.1:1/nothing"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("rnu",), "No such command 'rnu'"),
        (("retry", "a"), "did you mean fencepost dead replay or fencepost runs replay?"),
        (("runs", "rerun", "a"), "did you mean fencepost runs replay?"),
        (("beat",), "did you mean fencepost scheduler?"),
        (("unfreeze",), "did you mean fencepost thaw?"),
        (("schedules", "create", "x"), "did you mean fencepost schedules add?"),
        (("schedules", "unpause", "x"), "did you mean fencepost schedules resume?"),
        (("token", "delete"), "did you mean fencepost token revoke?"),
        (("dead", "delete"), "No such command 'delete' (see: fencepost dead --help)"),
        (("runs", "lsit"), "did you mean fencepost runs list?"),
        (("pause",), "did you mean fencepost queues pause or fencepost schedules pause?"),
        (("trigger", "x"), "did you mean fencepost schedules trigger?"),
        (("replay",), "did you mean fencepost dead replay or fencepost runs replay?"),
        (("schedules", "why"), "did you mean fencepost why?"),
        (("help",), "did you mean fencepost --help?"),
        (("zzz",), "No such command 'zzz' (see: fencepost --help)"),
        (("runs", "list", "--since", "7days"), "--since 7days: write 7d"),
        (("runs", "list", "--until", "2 hours"), "--until 2 hours: write 2h"),
        (("log", "--since", "1h30min"), "--since 1h30min: write 1h30m"),
        (("schedules", "add", "x", "--job", "j", "--every", "7days"), "write 7d"),
        (("schedules", "add", "x", "--job", "j", "--every", "2 hrs"), "write 2h"),
        (("schedules", "add", "x", "--job", "j", "--cron", "@daily", "--max-lateness", "2days"), "write 2d"),
        (("status", "--jsno"), "--json"),
        (("runs", "show"), "Missing argument 'KEY'"),
        (("status", "--store", "mysql://root:secret@db/x"), "sqlite:///path.db, postgresql://"),
        (("status", "--store", "fencepost.db"), "sqlite:///path.db, postgresql://"),
        (("status", "--namespace", "two words"), "namespace 'two words'"),
        (("enqueue", "job", "--payload", "[1]"), "expected a JSON object"),
        (("enqueue", "job", "--payload", "{"), "not JSON"),
        (("enqueue", "job", "--payload", '{"x": NaN}'), "NaN is not JSON"),
        (("enqueue", "job", "--at", "soon"), "--at: "),
        (("schedules", "add", "x", "--every", "1h"), "--job is missing"),
        (
            ("schedules", "add", "x", "--job", "j"),
            "exactly one of --cron, --every, --at, --rrule and --business-day",
        ),
        (
            ("schedules", "add", "x", "--job", "j", "--cron", "@daily", "--every", "1h"),
            "not --cron and --every",
        ),
        (("schedules", "add", "x", "--job", "j", "--every", "1h", "--tz", "UTC"), "--tz: has no meaning"),
        (("schedules", "add", "x", "--job", "j", "--every", "soon"), 'duration "soon"'),
        (("schedules", "add", "x", "--job", "j", "--cron", "@daily", "--overlap", "x"), 'overlap "x"'),
        (("schedules", "add", "x", "--job", "j", "--cron", "@daily", "--catch-up", "x"), 'catch_up "x"'),
        (("schedules", "add", "x", "--job", "j", "--every", "1h", "--max-lateness", "x"), "--max-lateness"),
        (("schedules", "add", "x", "--job", "j", "--every", "1h", "--label", "x"), "expected key=value"),
        (("schedules", "add", "x", "--job", "j", "--every", "1h", "--priority", "9"), "priority 9"),
        (
            ("schedules", "add", "x", "--job", "j", "--every", "1h", "--gate", "waiting=1"),
            "did you mean waiting_max",
        ),
        (("schedules", "add", "x", "--job", "j", "--every", "1h", "--gate", "of_last=x"), "--gate of_last=x"),
        (("schedules", "edit", "x"), "nothing to change"),
        (("schedules", "skip", "x", "noon"), "TIME: "),
        (("dead", "replay"), "give keys, a filter such as --job, or --all"),
        (("dead", "replay", "k", "--all"), "one of them"),
        (("dead", "replay", "--all", "--rate", "fast"), "--rate: rate"),
        (("freeze", "--schedule", "x", "--all"), "give one of --schedule, --label, --queue and --all"),
        (("freeze", "--label", "team"), "expected key=value"),
        (("gate", "drop", "x"), "say why with --reason"),
        (("backfill", "x", "--from", "1d"), "Missing option '--to'"),
        (("demo", "--for", "ever"), '--for: duration "ever"'),
        (("run", "shop"), "expected module:app or a .toml file"),
        (("run", "shop.py"), "did you mean shop:app?"),
        (("run", "no_such_module:app"), "no module no_such_module"),
        (("run", "no_such_file.toml"), "cannot be read: No such file"),
        (("run", "x.toml", "--concurrency", "0"), "'--concurrency'"),
    ],
)
def test_a_wrong_call_is_refused(
    arguments: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    line = refused(*arguments)
    assert said in line
    assert "secret" not in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("status",),
        ("runs", "list"),
        ("runs", "show", "x"),
        ("runs", "cancel", "x"),
        ("schedules", "list"),
        ("calendars", "list"),
        ("calendars", "set", "de", "--holiday", "2026-12-25"),
        ("schedules", "trigger", "x"),
        ("enqueue", "job"),
        ("dead", "list"),
        ("freeze",),
        ("gate", "open", "x"),
        ("log",),
        ("backfill", "x", "--from", "1d", "--to", "0s"),
        ("drain", "x"),
        ("reshard", "3"),
    ],
)
def test_a_store_is_not_made_by_asking_for_it(arguments: tuple[str, ...], url: str, tmp_path: Path) -> None:
    line = refused(*arguments, "--store", url)
    assert line.startswith(f"no store at {tmp_path / 'store.db'}; start one with: fencepost run")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [("status",), ("migrate",), ("runs", "list")])
def test_a_store_that_is_down_is_one_line_without_the_password(arguments: tuple[str, ...]) -> None:
    line = refused(*arguments, "--store", NOBODY)
    assert "is the server running" in line
    assert "secret" not in line


def test_a_node_that_does_not_wait_does_not_start_on_a_store_that_is_down(tmp_path: Path) -> None:
    (tmp_path / "jobs.toml").write_text('[jobs.one]\ncommand = ["true"]\n')
    with started("run", "jobs.toml", "--no-wait", "--store", NOBODY, folder=tmp_path) as process:
        assert process.ended() == 2
    (line,) = process.lines
    assert line.startswith("fencepost: store postgresql://nobody:***@")


@pytest.mark.postgres
def test_without_a_schema_it_says_migrate(empty_postgres_url: str) -> None:
    assert "run: fencepost migrate" in refused("status", "--store", empty_postgres_url)
    assert call("migrate", "--store", empty_postgres_url).exit_code == 0
    assert call("status", "--store", empty_postgres_url).exit_code == 0


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_text("these are notes, and long enough to be read as a header" * 20)
    assert "not a SQLite database" in refused("status", "--store", f"sqlite:///{path}")


def test_a_manifest_that_is_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    """In a process of its own, which could be ended."""
    os.mkfifo(tmp_path / "fencepost.toml")
    with started("run", "fencepost.toml", "--store", "sqlite:///a.db", folder=tmp_path) as process:
        assert process.ended() == 2
    (line,) = process.lines
    assert line == "fencepost: fencepost.toml: cannot be read: it is not a file"


def test_without_a_command_there_is_help_and_exit_2() -> None:
    result = call()
    assert result.exit_code == 2
    assert "Usage: fencepost" in result.stderr


NOT_UTF8 = "a\udc80"


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        (("runs", "show", NOT_UTF8), 3),
        (("runs", "show", NOT_UTF8, "--server", "http://127.0.0.1:9", "--token", "x" * 40), 3),
        (("audit", NOT_UTF8, "--server", "http://127.0.0.1:9", "--token", "x" * 40), 2),
        (("status", "--server", "http://127.0.0.1:9", "--token", f"secret{NOT_UTF8[1:]}"), 5),
        ((NOT_UTF8,), 1),
    ],
)
def test_bytes_that_are_no_text_are_no_traceback(url: str, arguments: tuple[str, ...], place: int) -> None:
    said = refused(*arguments, *(() if "--server" in arguments else ("--store", url)))
    assert said.startswith(f"word {place} of the call: character ")
    assert "is not UTF-8" in said
    assert "secret" not in said


def test_a_process_is_told_so_too(tmp_path: Path) -> None:
    with started("runs", "show", NOT_UTF8, folder=tmp_path) as process:
        assert process.ended() == 2
    assert process.lines == ["fencepost: word 3 of the call: character 2 is not UTF-8; write it anew"]


FAR_OFF = "0001-01-01T00:00:00Z"


@pytest.mark.parametrize(
    "arguments",
    [
        ("schedules", "skip", "x", FAR_OFF),
        ("schedules", "hold", "x", "9999-12-31T23:59:59Z"),
        ("why", "x", FAR_OFF),
        ("audit", "x", "--from", FAR_OFF),
    ],
)
def test_a_time_beyond_all_calendars_is_no_traceback(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    store = f"sqlite:///{tmp_path}/fencepost.db"
    called("migrate", "--store", store)
    assert "expected a year from 1970 to 9000" in refused(*arguments, "--store", store)


@pytest.mark.parametrize("verb", ["show", "cancel"])
def test_a_number_that_no_store_can_hold_is_no_traceback(verb: str) -> None:
    assert "is not in the range" in refused("backfills", verb, str(2**63))


def test_a_run_that_is_not_there_is_not_replayed(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/fencepost.db"
    called("migrate", "--store", store)
    assert "run nosuch: not found" in refused("runs", "replay", "nosuch", "--store", store)


def test_a_mistyped_variable_is_refused() -> None:
    result = call("status", FENCEPOST_STOER="sqlite:///x.db")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "fencepost: unknown variable FENCEPOST_STOER; did you mean FENCEPOST_STORE?\n"
