"""Celery with RabbitMQ as its broker: a beat, and tracked tasks, with a real worker. Results are in Redis."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid5

import pytest
from celery import Celery

from fencepost import Fencepost
from fencepost.app.celery import celery_job
from fencepost.executors.celery import IDS, CeleryExecutor, Sender
from fencepost.model.run import RunState
from fencepost.operations import runs as run_operations
from tests.cli.calls import called_json
from tests.cli.processes import SIGTERM
from tests.contrib.celery_processes import Notes, beat, worker
from tests.contrib.test_celery_tasks import QUICK, application, client, ended, id_of, next_of, task
from tests.executors.test_process_jobs import until_ended
from tests.servers.process import Address

pytestmark = [pytest.mark.rabbitmq, pytest.mark.redis, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def broker(rabbitmq_server: Address, redis_server: Address) -> Iterator[str]:
    """A RabbitMQ with a worker, which keeps results in Redis."""
    with worker(redis_server.url, CELERY_PROJECT_BROKER=rabbitmq_server.url):
        yield rabbitmq_server.url


@pytest.fixture
def notes(broker: str, redis_server: Address) -> Iterator[Notes]:
    found = Notes(redis_server.url, clean=False)
    yield found
    found.close()


@pytest.fixture
def celery(broker: str, redis_server: Address) -> Iterator[Celery]:
    """A client that knows the tasks by their names alone."""
    app = client(redis_server.url, broker_url=broker)
    yield app
    app.close()


@pytest.fixture
def app(tmp_path: Path) -> Fencepost:
    return application(tmp_path)


@pytest.mark.proof
def test_no_tick_of_a_beat_comes_twice(broker: str, notes: Notes, tmp_path: Path) -> None:
    """Takes 10 s, and 15 s more where it is the first here: a worker and a beat that import Celery, the
    server, and ticks a second apart."""
    store = f"sqlite:///{tmp_path / 'ledger.db'}"
    with beat(notes.url, store, CELERY_PROJECT_BROKER=broker) as process:
        process.wait_for("node started")
        notes.take(3)
        process.signal(SIGTERM)
        assert process.ended() == 0, process.said
    assert "Traceback" not in process.said
    keys = [one["run_key"] for one in notes.all]
    assert len(set(keys)) == 3
    assert [one["task_id"] for one in notes.all] == [str(uuid5(IDS, f"project/{key}")) for key in keys]
    runs = called_json("runs", "list", "--limit", "1000", "--store", store, "--namespace", "project")
    states = {one["run_key"]: one["state"] for one in runs}
    assert [states[key] for key in keys] == ["succeeded"] * 3
    sent = sum(one["state"] == "succeeded" for one in runs)
    keys += [one["run_key"] for one in notes.take(sent - 3)]
    assert len(set(keys)) == len(keys) == sent
    assert notes.client.llen("notes") == 0, "nothing was sent twice"


@pytest.mark.proof
async def test_a_tracked_run_does_not_end_before_its_task(
    app: Fencepost, celery: Celery, notes: Notes
) -> None:
    """Takes 5 s, and 15 s more where it is the first here: a worker that imports Celery, and the server."""
    good, bad = task("wait"), task("fail")
    sender = Sender(celery)
    for name in (good, bad):
        spec, _ = celery_job(name, celery, {"track": True, "retry": QUICK})
        app.add_job(spec, CeleryExecutor(sender, name, options={}, track=True))
    async with app, app.running(plans=False):
        key = await app.enqueue(good, name="over-rabbitmq")
        said = [await next_of(notes)]
        control = await app.control()
        assert (await run_operations.run_with_attempts(control, key))[0].state is RunState.RUNNING
        notes.let_go("over-rabbitmq")
        run, (attempt,) = await until_ended(app, key)
        assert (run.state, attempt.output) == (RunState.SUCCEEDED, "done")
        failed, attempts = await ended(app, bad, words="no such store")
        said += [await next_of(notes) for _ in range(3)]
    assert sender.is_open is False
    assert (failed.state, failed.attempt) == (RunState.DEAD, 3)
    assert failed.error == "LookupError: no such store"
    assert "raise LookupError(words)" in (attempts[0].detail or "")
    sent = [id_of(run, 1), *(id_of(failed, number) for number in (1, 2, 3))]
    assert [one["task_id"] for one in said] == sent
    assert notes.client.llen("notes") == 0, "nothing was sent twice"
