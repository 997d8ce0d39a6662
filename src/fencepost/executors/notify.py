"""Deliveries: a notification on its way to a target.

A webhook and a Slack channel are HTTP calls as any job's: guarded, signed, bounded. Code and files may say
where a URL or a secret is kept, and may name private addresses. A target that was made at run time may only
name secrets that the application has registered, and goes where a job without any such word goes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from fencepost.clock import Clock
from fencepost.errors import InvalidPayload, MissingExtra, PermanentFailure, UsageError
from fencepost.executors.http import http_call, http_executor
from fencepost.executors.http.answers import ReadRetryAfter
from fencepost.executors.http.call import HttpCall
from fencepost.executors.http.limits import PORTS_DEFAULT
from fencepost.executors.mail import Mail, MailServer, send
from fencepost.executors.secrets import Secrets
from fencepost.model.json import JsonObject
from fencepost.model.notification import REFERENCES, Target, TargetKind
from fencepost.model.secret import REFERENCE_PREFIX
from fencepost.ports.run import Run
from fencepost.telemetry.secret_source import Source
from fencepost.telemetry.secrets import remember

BODY = "{message}"


class NotifyExecutor:
    """Tells one target."""

    stoppable = False
    """A thread that talks to a mail server cannot be stopped."""

    def __init__(
        self,
        find: Callable[[str], Awaitable[Target | None]],
        secrets: Secrets,
        server: MailServer | None,
        clock: Clock,
        read_retry_after: ReadRetryAfter,
    ) -> None:
        self._find = find
        self._secrets = secrets
        self._server = server
        self._clock = clock
        self._read_retry_after = read_retry_after

    def check(self, payload: JsonObject) -> None:
        if not isinstance(payload.get("target"), str) or not isinstance(payload.get("message"), dict):
            raise InvalidPayload("payload: expected the name of a target, and a message")

    async def execute(self, run: Run) -> str | None:
        self.check(run.payload)
        target = await self._find(str(run.payload["target"]))
        if target is None:
            return "the target is not there any more; nothing was sent"
        if target.kind is TargetKind.EMAIL:
            return await self._mail(run, target)
        try:
            call = await asyncio.to_thread(call_of, target, self._secrets)
            executor = http_executor(call, self._clock, self._read_retry_after)
        except (UsageError, MissingExtra) as error:
            raise PermanentFailure(f"notify {target.name}: {error}") from None
        return await executor.execute(run)

    async def _mail(self, run: Run, target: Target) -> str:
        server, message = self._server, _message(run.payload)
        if server is None:
            raise PermanentFailure(
                f"notify {target.name}: this worker knows no mail server; set smtp (FENCEPOST_SMTP)"
            )
        mail = Mail(target.to, str(message["subject"]), str(message["text"]), run.key)
        await asyncio.to_thread(send, server, mail)
        return f"sent to {', '.join(target.to)}"


def call_of(target: Target, secrets: Secrets) -> HttpCall:
    """The call that tells a target, with its URL as it is now."""
    url = _value(target, "url", target.url, secrets)
    own = _own_port(url)
    return http_call(
        url=url,
        body=BODY,
        secret=None if target.secret is None else _source(target, "secret", target.secret, secrets).text,
        allow_private=target.allow_private and target.from_code,
        ports=(own,) if own is not None and target.from_code else PORTS_DEFAULT,
    )


def check_call(target: Target, secrets: Secrets) -> None:
    """Refuse a target of code that cannot be called, as far as it is known before its secrets are read."""
    for word in (target.url, target.secret or ""):
        if word.startswith((REFERENCE_PREFIX, *REFERENCES)):
            _source(target, "url", word, secrets)
    if not target.url.startswith((REFERENCE_PREFIX, *REFERENCES)):
        call_of(target, secrets)


def _value(target: Target, word: str, text: str, secrets: Secrets) -> str:
    """A text, or what is kept where it says."""
    if not text.startswith((REFERENCE_PREFIX, *REFERENCES)):
        return text
    value = _source(target, word, text, secrets).read(word).strip()
    remember(value)
    return value


def _source(target: Target, word: str, text: str, secrets: Secrets) -> Source:
    if text.startswith(REFERENCE_PREFIX):
        return secrets.source(text)
    if not target.from_code or not text.startswith(REFERENCES):
        raise UsageError(f"{word}: expected a registered secret such as {REFERENCE_PREFIX}stripe")
    return Source(text)


def _own_port(url: str) -> int | None:
    try:
        return urlsplit(url).port
    except ValueError:
        return None


def _message(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    message = payload["message"]
    return message if isinstance(message, dict) else {}
