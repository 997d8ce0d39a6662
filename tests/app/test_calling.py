"""Jobs called from wherever code runs, on every store: what was asked for is in the ledger, once."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from urllib.request import urlopen
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import pytest
from flask import Flask

from fencepost import Fencepost, Retry, Run
from fencepost.errors import (
    ResultNotKept,
    RunFailed,
    UnknownRun,
    UsageError,
    WaitTimeout,
)
from fencepost.model.run import RunFilter, RunRecord
from fencepost.model.text import RESULT_LENGTH_MAX
from fencepost.operations import runs as run_operations
from fencepost.services.bridge import bridge
from tests.cli.forks import ROOT
from tests.contrib.servers import program
from tests.servers.process import Address

PATIENCE_S = 60
POLL_S = 600.0
"""So long that whoever was woken in time was woken by a signal."""
LATER = datetime(2040, 1, 1, tzinfo=UTC)
STORES = [
    "sqlite",
    pytest.param("postgres", marks=pytest.mark.postgres),
    pytest.param("mongodb", marks=[pytest.mark.mongodb, pytest.mark.proof]),
]


@pytest.fixture(params=STORES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty store of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/ledger.db"
    if request.param == "postgres":
        return str(request.getfixturevalue("emptied_postgres_url"))
    from fencepost.stores import mongodb

    server: Address = request.getfixturevalue("mongo_server")
    fresh = server.url.replace("/?", f"/calling_{os.getpid()}_{abs(hash(tmp_path))}?")
    asyncio.run(mongodb.migrate(fresh, shards=1))
    return fresh


@pytest.fixture
def app(url: str) -> Iterator[Fencepost]:
    """An application that nothing has opened yet."""
    made = Fencepost(url, poll_s=POLL_S, pool_max=4)
    yield made
    bridge().call(made.close())


def define(app: Fencepost) -> Any:
    @app.job()
    def resize(image_id: int, width: int = 800) -> dict[str, int]:
        return {"image": image_id, "width": width}

    return resize


async def payloads(url: str) -> list[Any]:
    """What the ledger has been given, read by another application."""
    async with Fencepost(url) as reader:
        runs = await run_operations.find_runs(await reader.control(), RunFilter(limit=1_000))
    return sorted(run.payload["image_id"] for run in runs)


def run_program(name: str, url: str) -> None:
    """It ends well, and says nothing: no warning of something that was left open. A driver may let go in a
    forked child what it had open in the parent, which is what the warning is about there."""
    warnings = ["-W", "error", *(["-W", "ignore::ResourceWarning"] if name.startswith("fork") else [])]
    done = subprocess.run(
        [sys.executable, *warnings, "-m", "tests.app.calling_programs", name],
        env=os.environ | {"FENCEPOST_STORE": url},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("name", "images"),
    [
        ("script", [1, 2, 3, 4, 5]),
        ("pool", list(range(1, 25))),
        ("fork", [1, 2, 3, 4]),
        ("fork_in_a_loop", [1, 2, 3]),
        ("late", [1, 2]),
    ],
)
def test_a_program_of_plain_code_enqueues_and_ends_cleanly(name: str, images: list[int], url: str) -> None:
    run_program(name, url)
    assert asyncio.run(payloads(url)) == images


async def test_a_notebook_calls_within_its_running_loop(app: Fencepost, url: str) -> None:
    resize = define(app)
    assert resize.delay(image_id=1).state() == "ready"
    assert await (await resize.enqueue(image_id=2)).state() == "ready"
    await app.enqueue(resize, image_id=3)
    await app.close()
    assert await payloads(url) == [1, 2, 3]


async def test_a_thread_with_a_loop_of_its_own_calls_an_application_that_is_open_elsewhere(
    app: Fencepost, url: str
) -> None:
    resize = define(app)

    def elsewhere(image_id: int) -> None:
        asyncio.run(app.enqueue(resize, image_id=image_id))

        async def within() -> None:
            await resize.enqueue(image_id=image_id + 1)
            with pytest.raises(UsageError, match="open in another event loop"):
                await app.open()

        asyncio.run(within())

    async with app:
        for image_id in (1, 3):
            await asyncio.to_thread(elsewhere, image_id)
    assert await payloads(url) == [1, 2, 3, 4]


def test_one_application_is_opened_in_one_loop_after_the_other(app: Fencepost, url: str) -> None:
    resize = define(app)

    async def once(image_id: int) -> None:
        async with app:
            await resize.enqueue(image_id=image_id)

    for image_id in (1, 2):
        asyncio.run(once(image_id))
    assert asyncio.run(payloads(url)) == [1, 2]


async def test_jobs_call_jobs(app: Fencepost) -> None:
    resize = define(app)

    @app.job()
    async def begin(run: Run) -> str:
        return str((await resize.enqueue(image_id=1)).key)

    @app.job()
    def begin_plainly(run: Run) -> str:
        return str(resize.delay(image_id=2).key)

    async with app, app.running(plans=False):
        for job, image_id in ((begin, 1), (begin_plainly, 2)):
            key = await (await job.enqueue()).result(PATIENCE_S)
            handle = resize.handle(key.partition("#")[2])
            assert await handle.result(PATIENCE_S) == {"image": image_id, "width": 800}


class ThreadedServer(ThreadingMixIn, WSGIServer):
    """What Flask's own server is made of."""

    daemon_threads = False


class Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        return None


@contextmanager
def served(view: Any) -> Iterator[str]:
    """The address of a plain web application, each request in a thread of its own."""
    with make_server("127.0.0.1", 0, view, server_class=ThreadedServer, handler_class=Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def wsgi_view(resize: Any) -> Any:
    def view(environment: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
        handle = resize.delay(image_id=int(environment["PATH_INFO"].rpartition("/")[2]))
        start("200 OK", [("Content-Type", "text/plain")])
        return [handle.key.encode()]

    return view


def flask_view(resize: Any) -> Any:
    web = Flask("shop")

    @web.get("/resize/<int:image_id>")
    def ask(image_id: int) -> str:
        return str(resize.delay(image_id=image_id).key)

    return web


@pytest.mark.parametrize("make", [wsgi_view, flask_view])
def test_views_of_a_plain_web_server_call_at_once(
    make: Callable[[Any], Any], app: Fencepost, url: str
) -> None:
    with served(make(define(app))) as address, ThreadPoolExecutor(4) as browsers:
        answers = list(browsers.map(lambda number: _read(f"{address}/resize/{number}"), range(1, 9)))
    assert len(set(answers)) == 8
    assert asyncio.run(payloads(url)) == list(range(1, 9))


def _read(address: str) -> bytes:
    with urlopen(address, timeout=PATIENCE_S) as answer:
        found: bytes = answer.read()
        return found


@pytest.mark.redis
def test_a_celery_task_in_a_forked_worker_calls(url: str, redis_server: Address) -> None:
    from celery import Celery

    words = ("-m", "celery", "-A", "tests.app.calling_programs:celery", "worker", "-l", "info", "-c", "2")
    place = {"CALLING_BROKER": redis_server.url, "FENCEPOST_STORE": url}
    with program(*words, folder=ROOT, **place) as worker:
        worker.wait_for("ready.")
        client = Celery("client", broker=redis_server.url, set_as_current=False)
        for image_id in (1, 2, 3):
            client.send_task("tests.app.calling_programs.ask_for_resize", (image_id,))
        client.close()
        worker.wait_for_lines("asked for resize#celery-", 3)
    assert asyncio.run(payloads(url)) == [1, 2, 3]


async def test_a_handle_tells_what_became_of_a_run_and_is_woken_by_the_store(app: Fencepost) -> None:
    """By its poll it would be woken in ten minutes."""
    resize = define(app)

    @app.job(retry=Retry(max_attempts=1))
    async def fail(run: Run, word: str) -> int:
        raise ValueError(word)

    later = resize.options(key="one", delay="1h")
    waiting, again = await later.enqueue(image_id=1), await later.enqueue(image_id=2)
    assert (waiting.created, again.created, again.key) == (True, False, waiting.key)
    assert await waiting.state() == "planned"
    with pytest.raises(WaitTimeout, match=r"is planned after 0\.1s"):
        await again.wait(0.1)
    called_off = asyncio.create_task(again.wait(PATIENCE_S))
    await asyncio.sleep(0)
    assert await waiting.cancel() == "cancelled"
    assert await called_off == "cancelled"
    async with app:
        run, _ = await run_operations.run_with_attempts(await app.control(), waiting.key)
        assert run.reason == "cancelled by a program"
    neglected = resize.delay(image_id=9)
    with pytest.raises(WaitTimeout, match=r"is ready after 0\.1s, .*fencepost run TARGET"):
        await asyncio.to_thread(neglected.wait, 0.1)
    async with app, app.running(plans=False):
        handle = await resize.enqueue(3, width=4)
        assert await handle.result("60s") == {"image": 3, "width": 4}
        assert await handle.wait() == "succeeded"
        failed = await fail.options(key="f").enqueue(word="boom")
        with pytest.raises(RunFailed, match="boom") as caught:
            await failed.result(PATIENCE_S)
        assert (caught.value.state, caught.value.error) == ("dead", "ValueError: boom")
        assert "raise ValueError(word)" in (caught.value.detail or "")
        with pytest.raises(RunFailed, match="cancelled"):
            await waiting.result()
        plain = resize.delay(image_id=5)
        assert await asyncio.to_thread(plain.result, PATIENCE_S) == {"image": 5, "width": 800}
        assert await asyncio.to_thread(resize.handle("one").plain.state) == "cancelled"
        with pytest.raises(UsageError, match="would stop the event loop"):
            plain.wait()
        with pytest.raises(UnknownRun):
            await resize.handle("nowhere").state()


async def test_a_result_is_kept_as_long_as_retention_says(app: Fencepost) -> None:
    resize = define(app)
    async with app, app.running(plans=False):
        handle = await resize.options(key="kept").enqueue(image_id=1)
        assert await handle.result(PATIENCE_S) == {"image": 1, "width": 800}
    async with app:
        await (await app.open()).ledger.forget(-60, 100)
        assert await handle.state() == "succeeded"
        with pytest.raises(ResultNotKept, match="not kept any more"):
            await handle.result()


async def test_a_result_that_is_too_long_is_not_given_in_part(app: Fencepost) -> None:
    @app.job()
    def letters(count: int) -> str:
        return "x" * count

    async with app, app.running(plans=False):
        whole, cut = [
            await letters.enqueue(count=count) for count in (RESULT_LENGTH_MAX, RESULT_LENGTH_MAX + 1)
        ]
        assert len(await whole.result(PATIENCE_S)) == RESULT_LENGTH_MAX
        assert await cut.wait(PATIENCE_S) == "succeeded"
        with pytest.raises(ResultNotKept, match="longer than what is kept; return a reference"):
            await cut.result()


async def test_options_say_what_one_call_wants(app: Fencepost) -> None:
    resize = define(app)
    chosen = resize.options(queue="images", priority=1, delay="1h")
    handles = [await chosen.options(queue="images", priority=1, delay="1h").enqueue(1)]
    handles += await chosen.enqueue_many([{"image_id": 2}, {"image_id": 3}], keys=["two", "three"])
    again = await chosen.enqueue_many([{"image_id": 3}, {"image_id": 4}], keys=["three", "four"])
    assert [one.created for one in handles + again] == [True, True, True, False, True]
    handles.append((await asyncio.to_thread(chosen.delay_many, [{"image_id": 5}]))[0]._handle)
    by_name: dict[str, Any] = {"queue": "images", "priority": 1, "unique": "1h", "expires": "2h"}
    many = await app.enqueue_many("resize", [{"image_id": 6}] * 2, delay="1h", **by_name)
    named = await app.enqueue_many(
        resize, ({"image_id": one} for one in (7, 8)), ["seven", "eight"], at=LATER
    )
    assert (many[0] == many[1], named) == (True, ["resize#seven", "resize#eight"])
    with pytest.raises(UsageError, match="at and delay are two ways"):
        await app.enqueue_many(resize, [], at=LATER, delay="1h")
    handles.append(resize.handle(many[0].removeprefix("resize#")))
    async with app:
        store = await app.open()
        now = await store.now()
        for handle in handles:
            run: RunRecord | None = await store.ledger.get(app.settings.namespace, handle.key)
            assert run is not None
            assert (run.queue, run.priority) == ("images", 1)
            assert 0 < (run.run_at - now).total_seconds() <= 3600
        for key in named:
            run = await store.ledger.get(app.settings.namespace, key)
            assert run is not None
            assert (run.run_at, run.queue) == (LATER, "default")


async def test_a_parameter_may_have_the_name_of_an_option(app: Fencepost) -> None:
    @app.job()
    def store_away(key: str, at: int = 0) -> str:
        return f"{key} {at}"

    async with app, app.running(plans=False):
        handle = await store_away.options(key="k").enqueue(key="a", at=7)
        assert handle.key == "store_away#k"
        assert await handle.result(PATIENCE_S) == "a 7"
    for words in ({"key": "b"}, {"at": None, "key": "c"}):
        with pytest.raises(UsageError, match="key is an option of the call, or of the payload"):
            await app.enqueue(store_away, **words)


async def test_a_job_without_a_function_takes_options_too(app: Fencepost) -> None:
    app.add_command("backup", ["true"])
    async with app, app.running(plans=False):
        with pytest.raises(UsageError, match="option of the call"):
            await app.enqueue("backup", delay="5m")
        handle = await app.job_named("backup").options(priority=1, key="k").enqueue(delay="5m")
        assert (handle.key, handle.created) == ("backup#k", True)
        await handle.wait(PATIENCE_S)
        run = await (await app.open()).ledger.get(app.settings.namespace, handle.key)
        assert run is not None
        assert (run.priority, run.payload) == (1, {"delay": "5m"})
