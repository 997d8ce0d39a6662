"""The processors of the examples, in each language: no run is lost, none goes on that is to stop."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.cli.processes import SIGKILL, SIGTERM
from tests.examples.processors import COMMANDS, PROCESSORS, Scene, scene
from tests.marks import in_proof
from tests.servers.fixtures import started

RUNS = 20


@pytest.fixture(params=["python", *in_proof("go", "node")])
def over_nats(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Scene]:
    """On a server of its own: what a test leaves there is found by no other."""
    from tests.servers.nats import NatsServer

    command = COMMANDS[request.param]("nats")
    with started(NatsServer) as server, scene(tmp_path, server.url, command) as made:
        yield made


@pytest.mark.nats
def test_no_run_is_lost_and_no_failure_is_final_while_attempts_are_left(over_nats: Scene) -> None:
    keys = [over_nats.enqueue(str(number), f'{{"image": {number}}}') for number in range(RUNS)]
    keys.append(over_nats.enqueue("busy", '{"image": 0, "busy_until": 2}'))
    with over_nats.processor() as processor:
        over_nats.worker.wait_for_lines("succeeded run_key=thumbs#", RUNS + 1)
        processor.signal(SIGTERM)
        assert processor.ended() == 0, processor.said
    for number, key in enumerate(keys[:RUNS]):
        shown = over_nats.shown(key)
        assert (shown["state"], shown["attempt"]) == ("succeeded", 1), key
        assert f'"image":{number},' in shown["attempts"][0]["output"].replace(" ", "")
    shown = over_nats.shown(keys[-1])
    assert (shown["state"], shown["attempt"]) == ("succeeded", 2)
    assert "no room for the image" in shown["attempts"][0]["error"]


@pytest.mark.nats
def test_a_cancelled_run_does_not_go_on(over_nats: Scene) -> None:
    key = over_nats.enqueue("long", '{"image": 1, "takes_s": 3600}')
    with over_nats.processor() as processor:
        processor.wait_for(f"started {key}")
        over_nats.cancel(key)
        processor.wait_for(f"cancelled {key}")
        over_nats.worker.wait_for(f"cancelled run_key={key}")
    assert over_nats.shown(key)["state"] == "cancelled"


@pytest.mark.nats
def test_no_run_is_lost_with_a_processor_that_is_killed(over_nats: Scene) -> None:
    """Some of them are in its hands then, the others wait. Long: each takes 3 s, and its silence has to
    be noticed."""
    keys = [over_nats.enqueue(str(number), '{"image": 1, "takes_s": 3}') for number in range(6)]
    with over_nats.processor() as first:
        first.wait_for("started")
        first.signal(SIGKILL)
        first.ended()
        assert "succeeded" not in first.said
    with over_nats.processor():
        over_nats.worker.wait_for_lines("succeeded run_key=thumbs#", len(keys))
    attempts = [over_nats.shown(key)["attempts"] for key in keys]
    assert [one[-1]["outcome"] for one in attempts] == ["succeeded"] * len(keys)
    assert any(len(one) > 1 for one in attempts)


def test_the_client_is_not_tried_in_another_version_than_the_example_pins() -> None:
    for line in (PROCESSORS / "python" / "requirements.txt").read_text().splitlines():
        name, _, pinned = line.partition("==")
        assert version(name) == pinned, name
