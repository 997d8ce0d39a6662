"""Commands called in this process."""

import json
from typing import Any

from click.testing import CliRunner, Result

from fencepost.cli.main import cli

RUNNER = CliRunner()


def call(*arguments: str, **environment: str) -> Result:
    """The result of one command; an exception that is no exit is the test's."""
    result = RUNNER.invoke(cli, arguments, env=environment)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def called(*arguments: str) -> str:
    """What a command that must succeed has printed."""
    result = call(*arguments)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def called_json(*arguments: str) -> Any:
    """The one document that a command prints."""
    return json.loads(called(*arguments, "--json"))


def refused(*arguments: str) -> str:
    """The one line of a command that must be refused."""
    result = call(*arguments)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    (line,) = result.stderr.splitlines()
    assert line.startswith("fencepost: "), line
    return line.removeprefix("fencepost: ")
