"""`fencepost simulate`."""

from pathlib import Path

from tests.cli.calls import called, called_json, refused

TOML = """
[jobs.backup]
command = ["/bin/true"]

[schedules.nightly]
job = "backup"
cron = "0 2 * * *"
catch_up = { mode = "latest", max_lateness = "6h" }
"""
SPAN = ("--from", "2026-03-01T00:00:00Z", "--to", "2026-03-04T00:00:00Z")
OUTAGE = ("--outage", "2026-03-02T01:00:00Z/2026-03-02T05:30:00Z")


def file_in(folder: Path) -> str:
    path = folder / "fencepost.toml"
    path.write_text(TOML)
    return str(path)


def test_a_schedule_of_a_file_is_shown_without_a_store(tmp_path: Path) -> None:
    shown = called_json("simulate", "nightly", file_in(tmp_path), *SPAN, *OUTAGE, "--duration", "10m")
    assert shown["counts"] == {"succeeded": 3}
    assert shown["ticks"][1] == {
        "fire_time": "2026-03-02T02:00:00Z",
        "state": "succeeded",
        "reason": None,
        "run_at": "2026-03-02T02:00:00Z",
        "started_at": "2026-03-02T05:30:00Z",
        "finished_at": "2026-03-02T05:40:00Z",
        "attempt": 1,
    }


def test_a_schedule_of_the_store_is_shown_and_nothing_is_written(used: str) -> None:
    called(
        "schedules",
        "add",
        "nightly",
        "--job",
        "double",
        "--cron",
        "0 2 * * *",
        "--payload",
        '{"number": 1}',
        "--tz",
        "UTC",
        "--store",
        used,
    )
    before = called_json("runs", "list", "--store", used)
    shown = called_json("simulate", "nightly", *SPAN, *OUTAGE, "--store", used)
    assert shown["counts"] == {"missed": 1, "succeeded": 2}
    assert called_json("runs", "list", "--store", used) == before


def test_people_see_a_table_in_their_zone(tmp_path: Path) -> None:
    said = called("simulate", "nightly", file_in(tmp_path), *SPAN, *OUTAGE, "--tz", "Europe/Berlin")
    lines = said.splitlines()
    assert lines[1].startswith("2026-03-01 03:00:00 CET  succeeded")
    assert lines[-1] == "3 ticks: 3 succeeded"


def test_what_cannot_be_simulated_is_refused_in_one_line(tmp_path: Path) -> None:
    file = file_in(tmp_path)
    assert "it has: nightly" in refused("simulate", "weekly", file, *SPAN)
    assert "two times with a / between them" in refused(
        "simulate", "nightly", file, *SPAN, "--outage", "2026"
    )
    assert "is before since" in refused(
        "simulate", "nightly", file, "--from", "2026-03-04T00:00:00Z", "--to", "2026-03-01T00:00:00Z"
    )
