"""Celery tasks as jobs: what is sent, and, where it is tracked, what becomes of the run."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid5

import pytest
from celery import Celery

from fencepost import Fencepost, Retry, Run
from fencepost.app.celery import CeleryWords, celery_job
from fencepost.errors import InvalidSpec, RetryableFailure
from fencepost.executors.celery import IDS, CeleryExecutor, Sender
from fencepost.model.run import Attempt, RunRecord, RunState
from fencepost.operations import runs as run_operations
from tests.cli.processes import SIGKILL, started
from tests.contrib.celery_processes import PATIENCE_S, PROJECT, Notes, worker
from tests.executors.test_process_jobs import until_ended, until_state
from tests.servers.process import Address

QUICK = Retry(max_attempts=3, base="10ms", cap="10ms", budget=None)
NOWHERE = "amqp://guest:secret@127.0.0.1:1//"

pytestmark = pytest.mark.redis


@pytest.fixture(scope="module")
def place(redis_server: Address) -> Iterator[str]:
    """A Redis with a worker."""
    with worker(redis_server.url):
        yield redis_server.url


@pytest.fixture
def notes(place: str) -> Iterator[Notes]:
    found = Notes(place, clean=False)
    yield found
    found.close()


@pytest.fixture
def celery(place: str) -> Iterator[Celery]:
    """A client that knows the tasks by their names alone."""
    app = client(place)
    yield app
    app.close()


def client(place: str, **conf: Any) -> Celery:
    said = {"broker_url": place, "result_backend": place, **conf}
    app = Celery("client", set_as_current=False)
    app.conf.update(said)
    return app


def application(store: Path, **settings: Any) -> Fencepost:
    quick = {"heartbeat_every_s": 0.2, "poll_s": 0.2, "grace_s": 0.2, **settings}
    return Fencepost(f"sqlite:///{store}/app.db", **quick)


@pytest.fixture
def app(tmp_path: Path) -> Fencepost:
    return application(tmp_path)


def task(name: str) -> str:
    return f"{PROJECT}.{name}"


def id_of(run: RunRecord, attempt: int | None = None) -> str:
    part = "" if attempt is None else f"/attempt/{attempt}"
    return str(uuid5(IDS, f"default/{run.run_key}{part}"))


async def ended(app: Fencepost, job: str, **payload: Any) -> tuple[RunRecord, list[Attempt]]:
    run, attempts = await until_ended(app, await app.enqueue(job, **payload))
    return run, list(attempts)


async def next_of(notes: Notes) -> dict[str, Any]:
    return await asyncio.to_thread(notes.next)


async def test_a_run_succeeds_when_its_task_is_sent(app: Fencepost, celery: Celery, notes: Notes) -> None:
    job = app.celery_task(task("note"), celery=celery, name="report", options={"headers": {"mine": 1}})
    assert job == "report"
    async with app, app.running(plans=False):
        run, (attempt,) = await ended(app, job, region="eu")
        said = await next_of(notes)
    assert (run.state, attempt.output) == (RunState.SUCCEEDED, f"task {id_of(run)}")
    assert said == {"task_id": id_of(run), "run_key": run.run_key, "args": [], "kwargs": {"region": "eu"}}


async def test_a_run_that_is_tracked_ends_as_its_task_ends(
    app: Fencepost, celery: Celery, notes: Notes
) -> None:
    good = app.celery_task(task("note"), celery=celery, track=True)
    bad = app.celery_task(task("fail"), celery=celery, track=True, retry=QUICK)
    async with app, app.running(plans=False):
        run, (attempt,) = await ended(app, good)
        assert (run.state, attempt.output) == (RunState.SUCCEEDED, "noted 0")
        failed, attempts = await ended(app, bad, words="no such store")
        said = [await next_of(notes) for _ in range(4)]
    assert (failed.state, failed.attempt) == (RunState.DEAD, 3)
    assert failed.error == "LookupError: no such store"
    assert "raise LookupError(words)" in (attempts[0].detail or "")
    sent = [id_of(run, 1), *(id_of(failed, number) for number in (1, 2, 3))]
    assert [one["task_id"] for one in said] == sent


async def test_a_run_that_is_cancelled_ends_its_task(app: Fencepost, celery: Celery, notes: Notes) -> None:
    job = app.celery_task(task("wait"), celery=celery, track=True)
    async with app, app.running(plans=False):
        key = await app.enqueue(job, name="never")
        said = await next_of(notes)
        await run_operations.cancel(await app.control(), key)
        run, _ = await until_ended(app, key)
    assert run.state is RunState.CANCELLED
    await until_status(celery, said["task_id"], "REVOKED")


async def until_status(celery: Celery, task_id: str, status: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while celery.backend.get_task_meta(task_id, cache=False)["status"] != status:  # noqa: ASYNC110 - no signal
            await asyncio.sleep(0.02)


async def test_a_task_that_takes_too_long_is_given_up_and_changes_nothing_later(
    app: Fencepost, celery: Celery, notes: Notes
) -> None:
    job = app.celery_task(task("wait"), celery=celery, track=True, timeout="6s", retry=QUICK)
    async with app, app.running(plans=False):
        key = await app.enqueue(job, name="slow")
        first, second = await next_of(notes), await next_of(notes)
        pretend_success(celery, first["task_id"])
        notes.let_go("slow", "in time")
        run, attempts = await until_ended(app, key)
    assert (run.state, run.attempt) == (RunState.SUCCEEDED, 2)
    assert [one.outcome for one in attempts] == ["failed", "succeeded"]
    assert attempts[-1].output == "in time"
    assert [first["task_id"], second["task_id"]] == [id_of(run, 1), id_of(run, 2)]


def pretend_success(celery: Celery, task_id: str) -> None:
    """A result that comes from a worker that did not heed its revocation."""
    backend = celery.backend
    meta: dict[str, Any] = {
        "task_id": task_id,
        "status": "SUCCESS",
        "result": "far too late",
        "traceback": None,
        "children": [],
    }
    backend.client.set(backend.get_key_for_task(task_id), backend.encode(meta))


async def test_a_task_outlives_the_worker_that_waits_for_it(
    celery: Celery, notes: Notes, tmp_path: Path
) -> None:
    job, apps = task("wait"), [application(tmp_path), application(tmp_path)]
    for one in apps:
        one.celery_task(job, celery=celery, track=True, retry=QUICK)
    async with apps[0] as app, app.running(plans=False):
        key = await app.enqueue(job, name="deploy")
        said = await next_of(notes)
        await until_status(celery, said["task_id"], "STARTED")
    async with apps[1] as app, app.running(plans=False):
        await until_state(app, key, RunState.RUNNING)
        notes.let_go("deploy", "after the deploy")
        run, attempts = await until_ended(app, key)
    assert (run.state, run.attempt, attempts[-1].output) == (RunState.SUCCEEDED, 2, "after the deploy")
    assert said["task_id"] == id_of(run, 1)
    assert notes.client.llen("notes") == 0, "nothing was sent twice"


async def test_a_task_outlives_a_worker_that_is_killed(place: str, notes: Notes, tmp_path: Path) -> None:
    """The heartbeat of the killed worker has to time out."""
    target = tmp_path / "jobs.py"
    target.write_text(
        "from celery import Celery\nfrom fencepost import Fencepost, Retry\n"
        f"celery = Celery('client', broker='{place}', backend='{place}')\n"
        "app = Fencepost()\n"
        f"app.celery_task('{task('wait')}', celery=celery, track=True, retry=Retry(10, '10ms', '10ms'))\n"
    )
    quick = {"FENCEPOST_HEARTBEAT_EVERY_S": "0.5", "FENCEPOST_HEARTBEAT_TIMEOUT_S": "2"}
    settings = {**quick, "FENCEPOST_REAP_EVERY_S": "0.5", "FENCEPOST_STORE": f"sqlite:///{tmp_path}/app.db"}
    app = application(tmp_path)
    app.celery_task(task("wait"), celery=client(place), track=True)
    async with app:
        with started("worker", "jobs:app", folder=tmp_path, **settings) as first:
            first.wait_for("started")
            key = await app.enqueue(task("wait"), name="killed")
            said = await next_of(notes)
            await until_status(client(place), said["task_id"], "STARTED")
            first.signal(SIGKILL)
        with started("worker", "jobs:app", folder=tmp_path, **settings) as second:
            await until_attempt(app, key, 2)
            notes.let_go("killed", "after the kill")
            run, attempts = await until_ended(app, key)
    assert (run.state, attempts[-1].output) == (RunState.SUCCEEDED, "after the kill")
    assert said["task_id"] == id_of(run, 1)
    more = notes.client.lrange("notes", 0, -1)
    assert more == [], f"nothing was sent twice\n{attempts}\n{first.said}\n{second.said}"


async def until_attempt(app: Fencepost, key: str, attempt: int) -> None:
    control = await app.control()
    async with asyncio.timeout(PATIENCE_S):
        while (await run_operations.run_with_attempts(control, key))[0].attempt < attempt:  # noqa: ASYNC110 - a ledger sends no signal
            await asyncio.sleep(0.02)


class Forgetful(Sender):
    """Loses the answer of the first send."""

    lost = False

    def send(self, *words: Any) -> None:
        super().send(*words)
        if not self.lost:
            self.lost = True
            raise RetryableFailure("the answer is lost")


async def test_a_task_that_an_earlier_attempt_may_have_sent_is_looked_for(
    app: Fencepost, celery: Celery, notes: Notes
) -> None:
    words: CeleryWords = {"retry": Retry(max_attempts=3, base="2s", cap="2s", budget=None)}
    spec, _ = celery_job(task("note"), celery, words)
    app.add_job(spec, CeleryExecutor(Forgetful(celery), task("note"), options={}))
    async with app, app.running(plans=False):
        key = await app.enqueue(task("note"))
        said = await next_of(notes)
        await until_status(celery, said["task_id"], "SUCCESS")
        run, attempts = await until_ended(app, key)
    assert attempts[-1].output == f"task {id_of(run)}: sent by an earlier attempt"
    assert notes.client.llen("notes") == 0, "nothing was sent twice"


async def test_a_process_that_stalled_does_not_send(app: Fencepost, celery: Celery, notes: Notes) -> None:
    spec, _ = celery_job(task("note"), celery, {"retry": QUICK})
    app.add_job(spec, CeleryExecutor(Sender(celery, send_within_s=-1), task("note"), options={}))
    async with app, app.running(plans=False):
        run, _ = await ended(app, task("note"))
    assert run.state is RunState.DEAD
    assert run.error == "RetryableFailure: stalled before it was sent: nothing was sent by this attempt"
    assert notes.client.llen("notes") == 0


async def test_a_broker_that_is_away_is_one_line_and_another_attempt(app: Fencepost, place: str) -> None:
    celery = client(place, broker_url=NOWHERE, task_publish_retry=False)
    job = app.celery_task(task("note"), celery=celery, retry=QUICK)
    async with app, app.running(plans=False):
        run, attempts = await ended(app, job)
    assert (run.state, len(attempts)) == (RunState.DEAD, 3)
    assert (run.error or "").startswith(f"RetryableFailure: task {job}: the broker has not taken it: ")
    assert "secret" not in (run.error or "")


async def test_what_cannot_be_a_message_is_not_tried_again(app: Fencepost, place: str) -> None:
    celery = client(place)
    job = app.celery_task(task("note"), celery=celery, options={"serializer": "none-such"})
    async with app, app.running(plans=False):
        run, attempts = await ended(app, job)
    assert (run.state, len(attempts)) == (RunState.DEAD, 1)
    assert "cannot be sent" in (run.error or "")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ({"celery": 3}, 'job t: celery 3: expected a Celery application, or where it is, as in "proj:app"'),
        ({"celery": "proj"}, 'job t: celery "proj": expected a Celery application'),
        ({"celery": "no_such_project:app"}, 'job t: celery "no_such_project:app": no module no_such_project'),
        ({"celery": f"{PROJECT}:none"}, f"{PROJECT} has no none"),
        (
            {"track": True, "backend": "rpc://"},
            'job t: track: Celery\'s result_backend is "rpc://"; set result_',
        ),
        (
            {"track": True, "backend": None},
            "job t: track: Celery's result_backend is None; set result_backend",
        ),
        ({"options": {"task_id": "1"}}, "job t: options: task_id is not yours to set; leave it out"),
        ({"progress_deadline": "1m"}, "job t: progress_deadline is not for Celery tasks; give it a timeout"),
        ({"tracked": True}, "job t: unknown word 'tracked'; did you mean track?"),
    ],
)
def test_a_mistake_says_what_where_and_the_mend(words: Mapping[str, Any], complaint: str) -> None:
    said = dict(words)
    celery = said.pop("celery", Celery("t", backend=said.pop("backend", None), set_as_current=False))
    with pytest.raises(InvalidSpec) as refused:
        Fencepost().celery_task("t", celery=celery, **said)
    assert complaint in str(refused.value)


def test_without_celery_the_extra_is_named(tmp_path: Path) -> None:
    (tmp_path / "proj.py").write_text("import celery\n")
    head = "import sys; sys.modules['celery'] = None\n"
    uses = "from fencepost import Fencepost; Fencepost().celery_task('t', celery='proj:app')"
    for program in (uses, "import fencepost.contrib.celery"):
        done = subprocess.run(
            [sys.executable, "-c", head + program], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.stderr.splitlines()[-1].endswith("pip install 'fencepost[celery]'"), done.stderr


async def test_a_task_is_followed_past_an_attempt_that_was_lost_before_it_did_anything(
    app: Fencepost, celery: Celery, notes: Notes
) -> None:
    executor = Lost(Sender(celery), task("wait"), options={}, track=True)
    app.add_job(celery_job(task("wait"), celery, {"retry": QUICK})[0], executor)
    async with app, app.running(plans=False):
        key = await app.enqueue(task("wait"), name="lost")
        said = await next_of(notes)
        await until_status(celery, said["task_id"], "STARTED")
        executor.losing.set()
        await until_attempt(app, key, 3)
        notes.let_go("lost", "found")
        run, attempts = await until_ended(app, key)
    assert (run.attempt, attempts[-1].output) == (3, "found")
    assert notes.client.llen("notes") == 0, "nothing was sent twice"


class Lost(CeleryExecutor):
    """The first attempt is lost while it waits, the second before it begins."""

    def __init__(self, *words: Any, **more: Any) -> None:
        super().__init__(*words, **more)
        self.losing = asyncio.Event()

    async def execute(self, run: Run) -> str | None:
        if run.attempt == 2:
            raise RuntimeError("lost before it began")
        if run.attempt == 1:
            work = asyncio.create_task(super().execute(run))
            await self.losing.wait()
            run.is_handed_on = True
            work.cancel()
            await asyncio.wait({work})
            raise RuntimeError("lost")
        return await super().execute(run)


@pytest.mark.rabbitmq
async def test_on_rabbitmq_a_send_is_over_when_the_broker_has_confirmed_it(
    app: Fencepost, rabbitmq_server: Address, redis_server: Address
) -> None:
    """Most of it is the start of RabbitMQ."""
    celery = client(redis_server.url, broker_url=rabbitmq_server.url)
    sender = Sending(celery)
    job = celery_job(task("note"), celery, {"name": "report"})[0]
    app.add_job(job, CeleryExecutor(sender, task("note"), options={"queue": "confirmed"}))
    with worker(redis_server.url, "-Q", "confirmed", CELERY_PROJECT_BROKER=rabbitmq_server.url):
        notes = Notes(redis_server.url, clean=False)
        async with app, app.running(plans=False):
            runs = [(await ended(app, "report", number=number))[0] for number in range(3)]
            said = [await next_of(notes) for _ in runs]
        notes.close()
        sender.close()
    assert {one["task_id"] for one in said} == {id_of(run) for run in runs}
    assert sender.confirmed == [True] * 3


class Sending(Sender):
    """Looks whether the channel waits for confirms."""

    def __init__(self, celery: Any) -> None:
        super().__init__(celery)
        self.confirmed: list[bool] = []

    def _connected(self) -> Any:
        connection = super()._connected()
        self.confirmed.append(connection.connection.confirm_publish)
        return connection
