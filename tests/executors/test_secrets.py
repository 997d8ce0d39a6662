"""Secrets by reference: only registered names, read at the call, struck out of all that is written."""

import asyncio
import copy
import json
import logging
import pickle
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fencepost import Every, Fencepost, Run, Secret
from fencepost.errors import InvalidPayload, InvalidSpec, UsageError
from fencepost.executors.command.environment import remember_secrets
from fencepost.executors.secrets import Secrets
from fencepost.manifest import load
from fencepost.model.identifiers import JobName
from fencepost.model.run import RunState
from fencepost.model.schedule import ScheduleSpec
from fencepost.operations import jobs as job_operations
from fencepost.operations import schedules as schedule_operations
from fencepost.operations.control import Control
from fencepost.telemetry import secrets
from fencepost.telemetry.logs import JsonFormatter, PlainFormatter
from fencepost.telemetry.secrets import LiveSecrets, remember
from fencepost.testing import Bench, PlainBench
from tests.services.house import NS, House

VALUE = "sk_live_51-H+u/n=ter 22"
ONES = ["secret:stripe", "secret:file"]


def make_app(seen: list[str]) -> Fencepost:
    app = Fencepost("sqlite:////nowhere/at/all.db")
    app.secret("stripe", "env:STRIPE_KEY")

    @app.job()
    async def charge(token: Secret, amount: int = 1) -> None:
        seen.append(token.reveal())

    return app


def test_a_job_gets_what_is_kept_under_the_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: list[str] = []
    app = make_app(seen)
    (tmp_path / "key").write_text("in-a-file\n")
    app.secret("file", f"file:{tmp_path / 'key'}")
    monkeypatch.setenv("STRIPE_KEY", VALUE)
    with PlainBench(app) as bench:
        for reference in ONES:
            key = bench.enqueue("charge", token=reference)
            assert bench.run(key).payload == {"token": reference}
        bench.drain()
    assert seen == [VALUE, "in-a-file"]


def test_a_rotated_secret_counts_from_the_next_attempt_on(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    with PlainBench(make_app(seen)) as bench:
        for value in ("first-key", "second-key"):
            monkeypatch.setenv("STRIPE_KEY", value)
            bench.enqueue("charge", token="secret:stripe")
            bench.drain()
    assert seen == ["first-key", "second-key"]


@pytest.mark.parametrize(
    "reference",
    [
        "secret:strip",
        "secret:PATH",
        "secret:env:PATH",
        "secret:../../etc/passwd",
        "secret:",
        "env:STRIPE_KEY",
    ],
)
def test_a_payload_reaches_nothing_that_is_not_registered(reference: str) -> None:
    with PlainBench(make_app([])) as bench, pytest.raises(InvalidPayload, match="payload: token: "):
        bench.enqueue("charge", token=reference)


@pytest.mark.parametrize("given", ["hunter22-hunter22", 7, {"secret": "hunter22-hunter22"}])
def test_a_secret_in_the_place_of_its_reference_is_refused_and_not_repeated(given: Any) -> None:
    with PlainBench(make_app([])) as bench, pytest.raises(InvalidPayload) as caught:
        bench.enqueue("charge", token=given)
    assert "hunter22" not in str(caught.value)


async def test_a_name_that_is_gone_at_the_run_ends_it_for_good() -> None:
    seen: list[str] = []
    app = make_app(seen)
    async with Bench(app, raises=False) as bench:
        key = await app.enqueue("charge", token="secret:stripe")
        app._workshop.secrets._sources.clear()
        await bench.drain()
        run = bench.run(key)
    assert (run.state, seen) == (RunState.DEAD, [])
    assert run.error is not None
    assert run.error.startswith("PermanentFailure: payload: token: no secret of that name")


async def test_a_value_that_is_not_there_may_come_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STRIPE_KEY", raising=False)
    seen: list[str] = []
    app = make_app(seen)
    async with Bench(app, raises=False) as bench:
        key = await app.enqueue("charge", token="secret:stripe")
        await bench.drain()
        assert bench.run(key).state is RunState.READY
        assert "no env:STRIPE_KEY for this worker" in str(bench.failures[0].error)
        monkeypatch.setenv("STRIPE_KEY", VALUE)
        await bench.advance("1h")
        assert bench.run(key).state is RunState.SUCCEEDED


@pytest.mark.parametrize(
    "source", ["hunter22-hunter22", "env:", "env:A B", "file:relative", "vault:x", "env:A\n"]
)
def test_a_source_that_is_none_is_refused_and_not_repeated(source: str) -> None:
    with pytest.raises(InvalidSpec, match="expected where it is kept") as caught:
        Secrets().register("stripe", source)
    assert "hunter22" not in str(caught.value)


def test_a_name_is_registered_once() -> None:
    secrets = Secrets()
    secrets.register("stripe", "env:A")
    with pytest.raises(InvalidSpec, match="defined twice"):
        secrets.register("stripe", "env:B")


def test_a_secret_does_not_show_itself() -> None:
    secret = Secret("stripe", VALUE)
    assert secret.reveal() == VALUE
    shown = f"{secret} {secret!r} {secret:>20} {[secret]} {copy.deepcopy(secret)}"
    assert VALUE not in shown
    assert "***" in shown
    assert copy.deepcopy(secret).reveal() == VALUE
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    with pytest.raises(TypeError):
        json.dumps({"key": secret})
    with pytest.raises(TypeError):
        msgspec.json.encode(secret)
    with pytest.raises(TypeError):
        vars(secret)


@pytest.mark.parametrize(
    "text",
    [
        f"plain {VALUE} text",
        json.dumps({"key": VALUE}),
        repr(VALUE),
        "https://x/?key=sk_live_51-H%2Bu%2Fn%3Dter%2022&a=1",
        "https://x/?key=sk_live_51-H%2Bu%2Fn%3Dter+22",
        "Basic c2tfbGl2ZV81MS1IK3Uvbj10ZXIgMjI=",
    ],
)
def test_a_secret_is_struck_out_in_every_spelling(text: str) -> None:
    live = LiveSecrets()
    live.remember(VALUE)
    masked = live.mask(text)
    assert "***" in masked
    assert not any(piece in masked for piece in ("sk_live", "ter", "c2tfbGl2"))


def test_the_lines_of_a_long_secret_are_struck_out_one_by_one() -> None:
    live = LiveSecrets()
    live.remember("-----BEGIN KEY-----\nAAAABBBBCCCC\nDDDDEEEEFFFF\n-----END KEY-----")
    assert live.mask("read AAAABBBBCCCC\nand DDDDEEEEFFFF") == "read ***\nand ***"


def test_one_secret_within_another_leaves_no_rest() -> None:
    live = LiveSecrets()
    live.remember("hunter22")
    live.remember("hunter22-longer")
    assert live.mask("hunter22-longer hunter22") == "*** ***"


def test_only_so_many_are_remembered() -> None:
    live = LiveSecrets(kept_max=2)
    for value in ("one-one", "two-two", "one-one", "three-three"):
        live.remember(value)
    assert live.mask("one-one two-two three-three") == "*** two-two ***"


def test_a_line_of_the_log_holds_none() -> None:
    remember("canary-in-a-log-line")
    record = logging.LogRecord("x", logging.INFO, "f", 1, "got %s", ("canary-in-a-log-line",), None)
    for formatter in (PlainFormatter(), JsonFormatter()):
        assert "canary" not in formatter.format(record)


async def test_waiting_for_threads_does_not_matter() -> None:
    live = LiveSecrets()
    await asyncio.gather(*(asyncio.to_thread(live.remember, f"value-{one}") for one in range(50)))
    assert live.mask("value-7 value-49") == "*** ***"


async def test_a_schedule_names_only_registered_secrets_too() -> None:
    app = make_app([])
    wrong: dict[str, Any] = {"job": "charge", "trigger": Every("1h"), "payload": {"token": "secret:other"}}
    async with Bench(app) as bench:
        await bench.drain()
        with pytest.raises(InvalidPayload, match="token: no secret of that name"):
            await app.schedules.add("hourly", **wrong)
        await app.schedules.add("hourly", **{**wrong, "payload": {"token": "secret:stripe"}})
    with pytest.raises(InvalidPayload, match="token: no secret of that name"):
        app.add_schedule("hourly", **wrong)


async def test_words_of_progress_hold_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRIPE_KEY", "canary-in-progress")
    app = make_app([])

    @app.job()
    async def long(run: Run, token: Secret) -> None:
        run.heartbeat(progress=f"with {token.reveal()}", note=f"note {token.reveal()}")
        await bench.clock.sleep(60)

    async with Bench(app) as bench:
        key = await app.enqueue("long", token="secret:stripe")
        await bench.advance("30s")
        run = bench.run(key)
    assert (run.progress, run.note) == ("with ***", "note ***")


TOML = """
[secrets]
stripe = "env:STRIPE_KEY"

[jobs.pay]
command = ["/bin/sh", "-c", "echo got $TOKEN"]
pass_secrets = { TOKEN = "stripe" }
"""


def loaded(folder: Path, text: str) -> Fencepost:
    file = folder / "fencepost.toml"
    file.write_text(text)
    return load(file, {})


def test_a_command_gets_a_secret_in_its_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STRIPE_KEY", "canary-of-a-command")
    with PlainBench(loaded(tmp_path, TOML), real=["pay"]) as bench:
        key = bench.enqueue("pay")
        bench.drain()
        assert bench.output(key) == "got ***\n"


@pytest.mark.parametrize(
    ("name", "value", "is_struck"),
    [
        ("PGPASSWORD", "correct horse it's #7", True),
        ("STRIPE_TOKEN", "canary-token", True),
        ("STRIPE_KEY", "sk_live_51HunterTwo", True),
        ("SIGNING_KEY", "canary-key", True),
        ("SESSION_ENGINE", "postgresql", False),
        ("COOKIE_DOMAIN", "example.com", False),
        ("TOKEN_AUDIENCE", "invoices-eu", False),
        ("PARTITION_KEY", "customer-2026-region", False),
        ("STRIPE_TOKEN", "short", False),
        ("PWD", "/srv/invoices", False),
        ("FENCEPOST_RUN_KEY", "Invoices_EU_2026_11_16", False),
    ],
)
def test_of_an_environment_what_is_called_a_secret_is_struck_out(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, is_struck: bool
) -> None:
    monkeypatch.setattr(secrets, "LIVE", LiveSecrets())
    remember_secrets({name: value})
    assert secrets.mask(f"saw {value}") == ("saw ***" if is_struck else f"saw {value}")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (TOML.replace('TOKEN = "stripe"', 'TOKEN = "strip"'), "secret strip: .*did you mean stripe"),
        (TOML.replace("TOKEN =", "FENCEPOST_FENCE ="), "only the run itself says that"),
        (TOML.replace('"env:STRIPE_KEY"', '"hunter22"'), "secret stripe: expected where it is kept"),
        (TOML.replace('"env:STRIPE_KEY"', "7"), "secret stripe: expected where it is kept"),
    ],
)
def test_a_file_that_names_secrets_wrongly_is_refused(text: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=complaint) as caught:
        loaded(tmp_path, text)
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            "secret:strip",
            "no secret of that name is registered in the application; registered: later, stripe",
        ),
        ("secret:", "no secret of that name is registered"),
        (VALUE, "expected a reference such as secret:stripe, not the secret itself"),
        ("env:STRIPE_KEY", "not the secret itself"),
        (7, "not the secret itself"),
        (None, "not the secret itself"),
    ],
)
async def test_a_server_without_the_code_refuses_what_the_application_would(given: Any, told: str) -> None:
    app, store = make_app([]), House().memory
    app.secret("later", "env:LATER")
    await store.jobs.register(NS, list(app.specs().values()))
    verbs = Control(store, NS)
    hourly = ScheduleSpec(JobName("charge"), Every("1h").to_json(), payload={"token": given})
    for refused in (
        job_operations.enqueue_run(verbs, "charge", {"token": given}, "1"),
        schedule_operations.add(verbs, "s", hourly),
    ):
        with pytest.raises(InvalidPayload, match=f"payload of job charge: token: .*{told}") as error:
            await refused
        assert VALUE not in str(error.value)
    await job_operations.enqueue_run(verbs, "charge", {"token": "secret:later"}, "2")
