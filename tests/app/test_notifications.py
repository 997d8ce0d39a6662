"""Notifications from end to end: hooks, webhooks, Slack and e-mail, by the services of one process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fencepost import Fencepost, Retry
from fencepost.errors import InvalidSpec, PermanentFailure, UsageError
from fencepost.executors.http import verify
from fencepost.executors.notify import call_of
from fencepost.executors.secrets import Secrets
from fencepost.manifest.file import load_file
from fencepost.model.identifiers import JobName
from fencepost.model.notification import DELIVERY, Target, TargetKind
from fencepost.model.run import RunFilter, RunState
from fencepost.model.tables import NOTIFY_EVENTS
from fencepost.operations import runs as run_operations
from tests.cli.calls import call
from tests.executors.http.servers import said, served
from tests.executors.mail_server import mail_server

PATIENCE_S = 20.0
QUICK: dict[str, Any] = {"notify_every_s": 0.05, "notify_window_s": 0.3, "public_url": "https://cron.example"}


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[Fencepost]:
    app = Fencepost(f"sqlite:///{tmp_path}/app.db", **QUICK)
    async with app:
        yield app


def failing(app: Fencepost) -> None:
    @app.job(retry=Retry(max_attempts=1))
    async def bill(number: int) -> None:
        raise PermanentFailure(f"no customer {number}")


async def ended(app: Fencepost, job: str, count: int) -> None:
    """Until so many runs of a job have succeeded."""
    await there(app, job, count, RunState.SUCCEEDED)


async def there(app: Fencepost, job: str, count: int = 1, state: RunState | None = None) -> None:
    """Until a job has so many runs in a state, or in any."""
    wanted, control = RunFilter(job=JobName(job), state=state), await app.control()
    async with asyncio.timeout(PATIENCE_S):
        while len(await run_operations.find_runs(control, wanted)) < count:  # noqa: ASYNC110 - it is in the store
            await asyncio.sleep(0.02)


async def watched(app: Fencepost) -> None:
    """Until dead runs are collected."""
    store = await app.open()
    async with asyncio.timeout(PATIENCE_S):
        while not await store.rows.read(_events):  # noqa: ASYNC110 - it is in the store
            await asyncio.sleep(0.02)


async def _events(tx: Any) -> list[Any]:
    return list(await tx.find(NOTIFY_EVENTS.all()))


async def test_a_hook_is_called_once_for_all_that_died_within_the_window(app: Fencepost) -> None:
    failing(app)
    heard: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    @app.on("dead", jobs=["bil*"])
    async def page(notice: dict[str, Any]) -> None:
        heard.put_nowait(notice)
        raise PermanentFailure("the hook is broken")

    async with app.running():
        await watched(app)
        await app.enqueue_many("bill", [{"number": number} for number in range(40)])
        notice = await asyncio.wait_for(heard.get(), PATIENCE_S)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(heard.get(), 1.0)
    assert (notice["event"], notice["count"], notice["title"]) == ("dead", 40, "40 runs are dead")
    assert notice["items"][0]["words"].startswith("PermanentFailure: no customer")
    assert notice["items"][0]["link"].startswith("https://cron.example/runs/bill%23")


async def test_a_planner_that_is_gone_after_it_told_is_not_needed_for_the_delivery(app: Fencepost) -> None:
    failing(app)
    async with served() as hooks:
        url = f"http://127.0.0.1:{hooks.port}/"
        app.add_notify("ops", "webhook", events=["dead"], url=url, allow_private=True)
        async with app.running(plans=False):
            await app.enqueue("bill", key="7", number=7)
            await there(app, "bill", state=RunState.DEAD)
        async with app.running(works=False):
            await there(app, DELIVERY)
        assert hooks.requests == []
        for _ in range(2):
            async with app.running(plans=False):
                await ended(app, DELIVERY, 1)
    assert len(hooks.requests) == 1
    assert json.loads(hooks.requests[0].body)["items"][0]["subject"] == "bill#7"


async def test_the_command_that_tests_a_target_says_that_it_was_delivered(app: Fencepost) -> None:
    async with served() as hooks:
        app.add_notify("ops", "webhook", url=f"http://127.0.0.1:{hooks.port}/", allow_private=True)
        async with app.running(plans=False):
            asked = ("notify", "test", "ops", "--store", app.settings.store)
            result = await asyncio.to_thread(call, *asked)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("ops: delivered by run fencepost.notify#ops:test:")
    assert len(hooks.requests) == 1


async def test_targets_of_a_file_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_SECRET", "0123456789abcdef0123")
    async with served(said(503), said(200)) as hooks, served() as slack, mail_server() as box:
        monkeypatch.setenv("SLACK_URL", f"http://127.0.0.1:{slack.port}/services/T0/B0/geheim")
        file = tmp_path / "fencepost.toml"
        file.write_text(
            f"""
store = "sqlite:///{tmp_path}/app.db"

[settings]
notify_every_s = 0.05
notify_window_s = 0.3
smtp = "smtp://127.0.0.1:{box.port}"

[jobs.bill]
command = ["false"]
retry = {{ max_attempts = 1 }}

[notify.ops]
kind = "webhook"
url = "http://127.0.0.1:{hooks.port}/hook"
secret = "env:HOOK_SECRET"
allow_private = true
events = ["dead"]

[notify.chat]
kind = "slack"
url = "env:SLACK_URL"
allow_private = true
events = ["dead"]

[notify.people]
kind = "email"
to = ["ops@example.org"]
events = ["dead"]
""",
            "utf-8",
        )
        app = load_file(file)
        async with app, app.running():
            await watched(app)
            await app.enqueue("bill", key="7")
            await asyncio.wait_for(slack.asked.wait(), PATIENCE_S)
            await ended(app, DELIVERY, 3)
    assert len(hooks.requests) == 2
    first, second = hooks.requests
    assert verify(second.headers, second.body, "0123456789abcdef0123", datetime.now(UTC))
    assert second.headers["idempotency-key"].startswith("fencepost.notify")
    assert json.loads(first.body) == json.loads(second.body)
    told = json.loads(second.body)
    assert (told["event"], told["count"], told["items"][0]["subject"]) == ("dead", 1, "bill#7")
    assert json.loads(slack.requests[0].body)["text"].startswith("*1 run is dead* (default)")
    assert "Subject: [fencepost] default: 1 run is dead" in box.messages[0]


def test_what_a_target_cannot_be_is_refused_with_its_place() -> None:
    app = Fencepost("sqlite:///nowhere.db")
    with pytest.raises(InvalidSpec, match='notify ops: kind "sms": expected one of webhook, slack, email'):
        app.add_notify("ops", "sms")  # type: ignore[arg-type]
    with pytest.raises(InvalidSpec, match="notify ops: url is missing"):
        app.add_notify("ops", "webhook")
    with pytest.raises(InvalidSpec, match='event "death": expected one of dead, missed'):
        app.add_notify("ops", "email", to=["a@b"], events=["death"])  # type: ignore[list-item]
    with pytest.raises(InvalidSpec, match="hook tell: expected a function of one argument"):
        app.on("dead")(tell)
    app.add_notify("ops", "email", to=["a@b"], events=["dead"])
    with pytest.raises(InvalidSpec, match="notify ops: defined twice"):
        app.on("dead", name="ops")(print_it)


def print_it(notification: dict[str, Any]) -> None: ...


def tell(one: str, other: str) -> None: ...


def test_a_target_that_was_made_at_run_time_reads_no_secret_of_its_own_choice() -> None:
    secrets = Secrets()
    secrets.register("chat", "env:CHAT_URL")
    for url in ("env:PATH", "file:/etc/passwd", "secret:other"):
        with pytest.raises(UsageError, match="secret"):
            call_of(Target("ops", TargetKind.SLACK, url=url), secrets)
    with pytest.raises(UsageError, match="https"):
        call_of(Target("ops", TargetKind.SLACK, url="http://127.0.0.1/", allow_private=True), secrets)


def test_a_target_that_was_made_at_run_time_may_name_a_registered_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CHAT_URL", "https://hooks.example/T0")
    secrets = Secrets()
    secrets.register("chat", "env:CHAT_URL")
    call = call_of(Target("ops", TargetKind.SLACK, url="secret:chat"), secrets)
    assert (call.target.host, call.guard.allow_private) == ("hooks.example", False)
