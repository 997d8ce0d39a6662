"""Planted secrets are nowhere to be seen: answers, pages, metrics, logs, the audit log, errors, bugs."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from fencepost.errors import StoreUnavailable
from fencepost.model.access import EVERYWHERE, CredentialKind, Role, mint
from fencepost.model.audit import LogFilter
from fencepost.telemetry.logs import JsonFormatter, PlainFormatter
from fencepost.web.application import operations
from fencepost.web.auth.reading import FORM
from fencepost.web.dashboard.actions.operations import changes
from tests.services.house import NS
from tests.web.attacks.stage import PAGE, Stage, everything
from tests.web.attacks.test_markup import addresses
from tests.web.door import HERE
from tests.web.house import TOKEN, run_path
from tests.web.test_roles import body_of, place_of

HERE_ = {name.replace("-", "_"): value for name, value in HERE.items()}
CANARY = "canary7f3e91c2"
PAYLOAD = {
    "password": f"{CANARY}a it's #{CANARY}",
    "nested": {"api_token": f'{CANARY}b "{CANARY}"', "list": [{"Client-Secret": f"{CANARY}c"}]},
    "url": f"postgres://anna:{CANARY}d@db.example/x",
    "header": f"Bearer {CANARY}e",
    "hook": f"https://x.example/?access_token={CANARY}f&a=b",
    "credentials": {"user": f"{CANARY}g", "number": 4711_4711_4711},
}
GIVEN = {"worker.claim"}
"""A worker is given the payload of its run as it is: it does the work."""
SHOWN_ONCE = {"tokens.create", "tokens.rotate", "links.open"}


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """All that this process writes to its log, in both forms."""
    stream, logger = io.StringIO(), logging.getLogger()
    handlers = [logging.StreamHandler(stream), logging.StreamHandler(stream)]
    for handler, form in zip(handlers, (PlainFormatter(), JsonFormatter()), strict=True):
        handler.setFormatter(form)
        logger.addHandler(handler)
    before, own = logger.level, logging.getLogger("fencepost").level
    logger.setLevel(logging.DEBUG)
    logging.getLogger("fencepost").setLevel(logging.DEBUG)
    yield stream
    logger.setLevel(before)
    logging.getLogger("fencepost").setLevel(own)
    for handler in handlers:
        logger.removeHandler(handler)


class Ear:
    """Hears every answer."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.heard: list[tuple[str, str]] = []

    async def ask(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        given = more.pop("given", False)
        answer = await self._stage.ask(method, path, body, **more)
        if not given:
            self.heard.append((f"{method} {path}", f"{answer.content.decode()}{answer.headers}"))
        return answer

    def leaks(self, secrets: list[str]) -> list[tuple[str, str]]:
        return [(where, secret) for where, text in self.heard for secret in secrets if secret in text]


async def planted(stage: Stage, ear: Ear, token: str) -> str:
    """A schedule and runs with secrets in their payloads; the key of one that failed."""
    spec = {"schedule_id": "s", "job": "resize", "every": "1m", "payload": PAYLOAD}
    await ear.ask("POST", "/api/v1/schedules", spec, token=token)
    edit = {"payload": {**PAYLOAD, "a": 1}}
    await ear.ask("PATCH", "/api/v1/schedules/s", edit, token=token, if_match="*")
    for key in ("k1", "k2"):
        await ear.ask("POST", "/api/v1/jobs/resize/enqueue", {"key": key, "payload": PAYLOAD}, token=token)
    claim = {"worker": "w", "jobs": ["resize"], "limit": 1, "wait_s": 0}
    (one,) = (await ear.ask("POST", "/api/v1/claims", claim, given=True, token=token)).body["claims"]
    assert one["payload"] == PAYLOAD, "the job needs it so"
    ticket = {"attempt": one["attempt"], "fence": one["fence"], "permanent": True}
    told = (
        f"no answer from postgres://anna:{CANARY}d@db.example/x with Bearer {CANARY}e to {PAYLOAD['nested']}"
    )
    told += f" by Config(host='db', password={PAYLOAD['password']!r})"
    await ear.ask(
        "POST", run_path(one["run_key"], "fail"), {**ticket, "error": told, "detail": told}, token=token
    )
    return str(one["run_key"])


async def test_a_secret_is_nowhere_to_be_seen(stage: Stage, written: io.StringIO) -> None:
    ear, made = Ear(stage), await stage.token(Role.ADMIN, EVERYWHERE)
    token = made.credential.reveal()
    cookie, csrf = await stage.sign_in(made)
    link = (await stage.ask("POST", "/api/v1/links", {}, token=token)).body["link"]
    made_up = mint(CredentialKind.TOKEN, lambda size: b"\x5a" * size).reveal()
    key = await planted(stage, ear, token)
    for number, one in enumerate(everything_asked()):
        path = place_of(
            one,
            {"run_key": key, "schedule_id": "s", "job": "resize"}
            | dict.fromkeys(set(one.in_path) - {"run_key", "schedule_id", "job"}, "1"),
        )
        given = one.name in GIVEN | SHOWN_ONCE
        more: dict[str, Any] = {"idempotency_key": f"k{number}", "if_match": "*", "given": given}
        for _ in range(2):
            await ear.ask(one.method, path, body_of(one), token=token, **more)
    for path in [*addresses({"schedule_id": "s", "run_key": key, "job": "resize"}), "/metrics", "/nothing"]:
        await ear.ask("GET", path, cookie=cookie, **PAGE)
        await ear.ask("GET", path, token=made_up)
    for name in changes():
        if name not in SHOWN_ONCE:
            body = urlencode({"csrf": csrf, "confirmed": "no", "reason": "x"}).encode()
            await ear.ask("POST", f"/do/{name}", body, cookie=cookie, content_type=FORM, **HERE_)
    await with_faults(stage, ear, token, cookie)
    log = await stage.house.memory.audit_log.list(NS, LogFilter(limit=500))
    assert len(log) > 3
    ear.heard += [("log", written.getvalue())]
    ear.heard += [("repr", repr((stage.house.settings, stage.doorkeeper, stage.serving, made)))]
    secrets = [
        CANARY,
        "471147114711",
        TOKEN,
        *(one.rpartition("_")[2] for one in (token, cookie, link, made_up)),
    ]
    assert ear.leaks(secrets) == []
    assert [one for one in secrets[2:] if one in repr(log)] == [], (
        "the payloads of old versions are kept as they were"
    )
    assert "refused a credential" in written.getvalue()
    assert "unexpected error" in written.getvalue()
    assert any("***" in text for _, text in ear.heard)


async def with_faults(stage: Stage, ear: Ear, token: str, cookie: str) -> None:
    """A store that is away, and one with a bug, both with a password on their lips."""
    for error in (
        StoreUnavailable(f"no connection to postgresql://fencepost:{CANARY}h@db/x"),
        RuntimeError(f"could not send Authorization: Bearer {token} to postgresql://u:{CANARY}i@db/x"),
    ):
        for path in ("/api/v1/schedules/s", "/schedules/s", "/api/v1/runs", "/runs", "/readyz", "/"):
            failing(stage, error)
            await ear.ask("GET", path, token=token, **PAGE)
            await ear.ask("GET", path, cookie=cookie)
        stage.house.store.before.clear()


def failing(stage: Stage, error: Exception) -> None:
    async def fail(*_: Any) -> None:
        raise error

    for name in ("schedules.get", "schedules.list", "ledger.list", "store.now", "jobs.list"):
        stage.house.store.before[name] = [fail]


def everything_asked() -> list[Any]:
    return [
        one for one in operations() if one.name not in ("tokens.revoke", "sessions.end", "shards.reshard")
    ]


def test_every_route_is_walked(stage: Stage) -> None:
    assert len(everything(stage.serving)) > 150
