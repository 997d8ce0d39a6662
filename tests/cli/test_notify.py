"""`fencepost notify`."""

from __future__ import annotations

from tests.cli.calls import call, called, called_json, refused


def set_ops(url: str, *options: str) -> str:
    words = ("--kind", "email", "--to", "ops@example.org")
    return called("notify", "set", "ops", *words, *options, "--store", url)


def test_a_target_is_written_listed_and_taken_away(used: str) -> None:
    assert set_ops(used, "--event", "dead", "--event", "stuck") == "ops: is told of dead, stuck\n"
    (listed,) = called_json("notify", "list", "--store", used)
    assert (listed["name"], listed["to"], listed["events"]) == ("ops", "ops@example.org", ["dead", "stuck"])
    assert "ops   email  ops@example.org  dead, stuck  all    store" in called(
        "notify", "list", "--store", used
    )
    assert called("notify", "remove", "ops", "--store", used) == "ops: removed\n"
    assert called_json("notify", "list", "--store", used) == []


def test_a_test_that_no_worker_delivers_is_told_with_its_run(used: str) -> None:
    set_ops(used)
    result = call("notify", "test", "ops", "--wait", "0", "--store", used)
    assert result.exit_code == 1
    assert "ops: run fencepost.notify#ops:test:" in result.stderr
    assert "is ready: no worker has delivered it so far" in result.stderr


def test_what_cannot_be_is_refused_in_one_line(used: str) -> None:
    assert "notify nobody: not found; known: none" in refused("notify", "test", "nobody", "--store", used)
    said = refused("notify", "set", "x", "--kind", "slack", "--url", "env:PATH", "--store", used)
    assert "url: expected https://… or secret:NAME" in said
    said = refused(
        "notify", "set", "x", "--kind", "email", "--to", "a@b", "--event", "death", "--store", used
    )
    assert 'event "death": expected one of dead, missed' in said
