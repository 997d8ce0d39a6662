"""A secret that is read in a child process is struck out of all that comes from it."""

from __future__ import annotations

import pytest

from fencepost.errors import RemoteFailure
from fencepost.model.identifiers import JobName
from fencepost.ports.run import Run, Said
from fencepost.telemetry.secrets import mask
from tests.executors.far_app import app
from tests.executors.runs import make_run

VALUE = "hunter2-hunter2"
PAYLOAD = {"token": "secret:token"}


async def test_a_secret_of_a_child_is_masked_wherever_it_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAR_TOKEN", VALUE)
    executor = app.jobs[JobName("blab")].executor
    lines: list[str] = []
    run = Run(make_run(PAYLOAD).claim, keep=lines.append)
    assert await executor.execute(run) == "15 characters: ***"
    with pytest.raises(RemoteFailure) as caught:
        await executor.execute(make_run({**PAYLOAD, "fails": True}))
    await app.close()
    assert run.said == Said("at ***", "***")
    assert str(caught.value) == "ValueError: raised ***"
    assert VALUE not in (caught.value.detail or "")
    assert caught.value.output == "printed ***\n"
    # The log itself masks what it is given: the worker knows the secret, though only the child revealed it.
    assert sorted(map(mask, lines)) == ["logged ***", "printed ***"]
