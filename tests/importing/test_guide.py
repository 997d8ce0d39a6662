"""The guide shows what the commands do."""

import re
from pathlib import Path

from fencepost.cli.main import cli
from tests.cli.calls import RUNNER

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "importing.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def block(language: str) -> str:
    return str(next(body for name, body in BLOCKS if name == language))


def test_the_crontab_of_the_guide_becomes_its_file_and_its_report() -> None:
    call = ["import", "crontab", "-", "--tz", "Europe/Berlin"]
    result = RUNNER.invoke(cli, call, input=block("crontab"))
    assert (result.stdout, result.stderr) == (block("toml"), block("text"))


def test_the_dump_of_the_guide_becomes_its_module() -> None:
    result = RUNNER.invoke(cli, ["import", "celery-beat", "-"], input=block("json"))
    assert result.stdout == block("python")
