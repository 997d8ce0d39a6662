"""Bad input to the long runs is one clear line, before anything is begun."""

from __future__ import annotations

import pytest

from tests.bugs import __main__ as bugs
from tests.chaos import __main__ as chaos
from tests.simulation import __main__ as simulation


@pytest.mark.parametrize(
    ("command", "arguments", "said"),
    [
        (simulation, "--seeds 0", "'0': expected a whole number, 1 or more"),
        (simulation, "--seeds many", "'many': expected a whole number, 1 or more"),
        (simulation, "--hours -1", "'-1': expected a number above 0"),
        (simulation, "--hours nan", "'nan': expected a number above 0"),
        (simulation, "--paces 4 0", "'0': expected a whole number, 1 or more"),
        (simulation, "--processes 0", "'0': expected a whole number, 1 or more"),
        (bugs, "--seeds 0", "'0': expected a whole number, 1 or more"),
        (bugs, "nonsense", "no such bug: nonsense"),
        (chaos, "--minutes 0", "'0': expected a number above 0"),
        (chaos, "--rate 0", "'0': expected a whole number, 1 or more"),
        (chaos, "--only nonsense", "no such fleet: nonsense"),
    ],
)
def test_bad_input_is_one_clear_line(
    command: object, arguments: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(arguments.split())  # type: ignore[attr-defined]
    assert ended.value.code == 2
    assert said in capsys.readouterr().err.splitlines()[-1]
