"""How a command ends when its surroundings, not its arguments, cut it short."""

import subprocess
import sys
from pathlib import Path

import pytest

from fencepost.cli.faults import guarded
from tests.cli.processes import clean_environment

LONG = [sys.executable, "-m", "fencepost", "next", "* * * * *", "--count", "10000"]


def test_a_reader_that_goes_away_hears_no_complaint(tmp_path: Path) -> None:
    with subprocess.Popen(
        LONG, cwd=tmp_path, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""


def test_ctrl_c_is_130_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    assert guarded(interrupted) == 130
    assert capsys.readouterr().err == ""


def test_our_own_bugs_keep_their_traceback() -> None:
    def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        guarded(broken)
