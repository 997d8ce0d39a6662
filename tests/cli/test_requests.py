"""Options and arguments come from what an operation asks for."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import click
import pytest
from click.testing import CliRunner
from msgspec import Meta, field

from fencepost.cli.commands import command, help_of
from fencepost.cli.main import cli
from fencepost.cli.options import Command, tz_option
from fencepost.cli.requests import takes
from fencepost.errors import UsageError
from fencepost.operations.operation import ChangeRequest, Request
from fencepost.operations.queues import pause_queue
from fencepost.operations.words import Moment, Seconds, When
from scripts.docs import helps


class Colour(StrEnum):
    RED = "red"
    GREEN = "green"


def described(kind: Any, prose: str = "Some words.") -> Any:
    return Annotated[kind, Meta(description=prose)]


class ThingRequest(Request, frozen=True, kw_only=True):
    """One field of each kind."""

    thing_id: str
    colour: described(Colour, "Its colour.") | None = None  # type: ignore[valid-type]
    names: described(list[str], "Whom it concerns.") = field(default_factory=list)  # type: ignore[valid-type]
    since: described(When, "From then on.") | None = None  # type: ignore[valid-type]
    at: described(Moment, "When.") | None = None  # type: ignore[valid-type]
    lasts_s: described(Seconds, "For how long; not with `at`.") = 600.0  # type: ignore[valid-type]
    payload: described(dict[str, Any], "What it is given.") = field(default_factory=dict)  # type: ignore[valid-type]
    count: Annotated[int, Meta(ge=1, le=9, description="How many.")] = 3
    loud: described(bool, "Say it.") = False  # type: ignore[valid-type]
    seen: described(bool, "Only what was seen.") | None = None  # type: ignore[valid-type]
    careful: described(bool, "False: look at nothing.") = True  # type: ignore[valid-type]
    limit: int = 50
    after: str | None = None


class Told(ChangeRequest, frozen=True, kw_only=True):
    reason: str


def asked(*words: str, kind: Any = ThingRequest, **terms: Any) -> Any:
    """What a command with these words asks for."""
    found: list[Any] = []

    @click.command()
    @takes(kind, arguments=("thing_id",), **terms)
    @click.option("--reason")
    @tz_option
    def thing(request: Any, tz: str | None, reason: str | None) -> None:
        found.append(request)

    CliRunner().invoke(thing, words, catch_exceptions=False, standalone_mode=False)
    return found[0]


def helped(*names: str) -> str:
    made: Command = takes(ThingRequest, arguments=("thing_id",))(lambda **_: None)
    return CliRunner().invoke(click.command("thing")(made), ["--help"], terminal_width=100).output


def test_what_is_left_out_is_left_to_the_request() -> None:
    assert asked("t") == ThingRequest(thing_id="t")


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["--colour", "green"], {"colour": Colour.GREEN}),
        (["--name", "a", "--name", "b"], {"names": ["a", "b"]}),
        (["--since", "2h"], {"since": "2h"}),
        (["--since", "2026-03-01T01:00", "--tz", "Europe/Berlin"], {"since": "2026-03-01T00:00:00Z"}),
        (["--at", "2026-03-01T01:00", "--tz", "Europe/Berlin"], {"at": "2026-03-01T00:00:00Z"}),
        (["--lasts", "1h"], {"lasts_s": 3600.0}),
        (["--payload", '{"x": 1}'], {"payload": {"x": 1}}),
        (["--count", "9"], {"count": 9}),
        (["--loud"], {"loud": True}),
        (["--no-careful"], {"careful": False}),
        (["--seen"], {"seen": True}),
    ],
)
def test_a_text_is_read_by_the_type_of_its_field(words: list[str], given: dict[str, Any]) -> None:
    assert asked("t", *words) == ThingRequest(thing_id="t", **given)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--colour", "gren"], "--colour gren: unknown; did you mean green?"),
        (["--since", "7days"], "--since 7days: write 7d"),
        (["--at", "2h"], "--at"),
        (["--lasts", "soon"], "--lasts"),
        (["--payload", "[]"], "expected a JSON object"),
        (["--filter", "name"], "expected name=value"),
        (["--filter", "colou=x"], "did you mean colour?"),
        (["--filter", "count=4"], "--filter count: unknown"),
        (["--count", "10"], "10 is not in the range 1<=x<=9"),
        (["--limit", "3"], "No such option '--limit'"),
        (["--after", "x"], "No such option '--after'"),
        (["--careful"], "No such option '--careful'"),
    ],
)
def test_what_does_not_fit_is_refused_by_the_name_of_its_option(words: list[str], said: str) -> None:
    with pytest.raises((UsageError, click.UsageError)) as refused:
        asked("t", *words, pairs=True)
    error = refused.value
    assert said in (error.format_message() if isinstance(error, click.UsageError) else str(error))


def test_a_pair_is_an_option() -> None:
    found = asked("t", "--filter", "colour=red", "--filter", "lasts=1h", pairs=True)
    assert (found.colour, found.lasts_s) == (Colour.RED, 3600.0)


def test_a_field_can_be_called_otherwise() -> None:
    assert asked("t", "--for", "1h", names={"lasts_s": "--for"}).lasts_s == 3600.0


def test_a_reason_that_is_needed_is_not_left_out() -> None:
    with pytest.raises(UsageError, match="say why with --reason"):
        asked(kind=Told)
    with pytest.raises(UsageError, match="say why with --reason"):
        asked("--reason", " ", kind=Told)
    assert asked("--reason", "why", kind=Told) == Told(reason="why")


@pytest.mark.parametrize(
    "line",
    [
        "Usage: thing [OPTIONS] ID",
        "--colour [red|green]  Its colour.",
        "--name NAME           Whom it concerns; may be repeated.",
        "--since TIME          From then on; also a length of time ago: 2h.",
        "--lasts DURATION      For how long; not with --at.  [default: 10m]",
        "--count N             How many.  [default: 3; 1<=x<=9]",
        "--no-careful          Look at nothing.",
    ],
)
def test_help_says_what_the_request_says(line: str) -> None:
    assert line in helped()


def test_a_field_without_a_description_makes_no_option() -> None:
    class Bare(Request, frozen=True, kw_only=True):
        colour: str | None = None

    with pytest.raises(AssertionError, match="colour: an option has a description"):
        takes(Bare)


def test_the_help_of_a_command_begins_with_its_operation() -> None:
    group = click.Group()
    command(pause_queue, group, "fencepost queues pause mail", more="Exit 1 where it is paused already.")(str)
    made = group.commands["pause"]
    assert made.help == help_of(
        pause_queue.prose, "Exit 1 where it is paused already.", ["fencepost queues pause mail"]
    )
    assert made.help.startswith(pause_queue.prose)


def test_each_command_says_itself_in_one_way() -> None:
    """What `fencepost --help` lists without loading a command is what the command says."""
    with click.Context(cli) as context:
        written, own = cli.summaries(context), cli.loaded_summaries(context)
    assert written == own
    assert {f"fencepost {path}" for path in written} == {path for path, _ in helps(cli, None)} - {"fencepost"}
