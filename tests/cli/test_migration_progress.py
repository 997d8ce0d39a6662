"""What an operator sees of a migration while it is at work."""

import pytest

from fencepost.cli.progress import MigrationLine
from fencepost.model.migration_progress import MigrationProgress

BUILDS = "builds index runs_by_state: building index: scanning table"
WAITS = "waits for the lock of a table"


def tell(*shown: MigrationProgress) -> None:
    with MigrationLine() as line:
        for one in shown:
            line(one)


def test_a_terminal_has_a_bar_that_is_gone_at_the_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    tell(MigrationProgress("0016", BUILDS, 1, 4), MigrationProgress("0016", "changes rows", 5000, None))
    first, second, cleared = capsys.readouterr().err.removeprefix("\r\033[K").split("\r\033[K")
    assert first == f"0016: {BUILDS} [######------------------] 25%"
    assert second == "0016: changes rows 5000"
    assert cleared == ""


def test_a_log_has_no_bar_and_one_line_for_a_lock(capsys: pytest.CaptureFixture[str]) -> None:
    tell(*(MigrationProgress("0016", doing, 1, 4) for doing in (BUILDS, WAITS, WAITS)))
    assert capsys.readouterr() == ("", f"0016: {WAITS}\n")
