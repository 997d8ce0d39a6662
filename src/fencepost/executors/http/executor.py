"""HTTP calls as jobs: one attempt from its secrets to its verdict, all of it within one deadline."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, replace

from fencepost.clock import Clock
from fencepost.errors import BadSignature, InvalidPayload, InvalidSpec, PermanentFailure, RetryableFailure
from fencepost.executors.http import client
from fencepost.executors.http.address_guard import Resolve, resolved
from fencepost.executors.http.answers import REDIRECTS, Answer, ReadRetryAfter, failure_of, told
from fencepost.executors.http.call import HttpCall
from fencepost.executors.http.headers import GO_ANYWHERE, about, read_headers, secrets_among, webhook_id
from fencepost.executors.http.secrets import read_signing_secret, struck_out
from fencepost.executors.http.signing import signed_headers
from fencepost.executors.http.target import Target
from fencepost.model.durations import format_duration
from fencepost.model.json import JsonObject
from fencepost.ports.run import Run

TO_A_GET = frozenset({301, 302, 303})
FORM = {"Accept": "*/*", "Accept-Encoding": "identity"}
"""An answer is asked for unpacked: what is kept of it is bounded, and so must be what it unpacks to."""


class HttpExecutor:
    """One call. Nothing is kept open between attempts."""

    stoppable = True

    def __init__(
        self,
        call: HttpCall,
        *,
        clock: Clock,
        read_retry_after: ReadRetryAfter,
        resolve: Resolve = resolved,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._call = call
        self._clock = clock
        self._read_retry_after = read_retry_after
        self._resolve = resolve
        self._tls = tls

    @property
    def names(self) -> tuple[str, ...]:
        """What the call takes from a payload, at its top."""
        return tuple(dict.fromkeys(name.partition(".")[0] for name in self._call.body.names))

    def check(self, payload: JsonObject) -> None:
        self._call.body.filled(payload)

    async def execute(self, run: Run) -> str | None:
        try:
            body = self._call.body.filled(run.payload)
        except InvalidPayload as error:
            raise PermanentFailure(str(error)) from None
        try:
            async with asyncio.timeout(self._call.deadline.total_seconds()):
                credentials = await _credentials(self._call)
                answer = await self._answer(run, body, credentials)
        except TimeoutError:
            limit = format_duration(self._call.deadline)
            raise RetryableFailure(f"{self._call.target.origin}: no whole answer within {limit}") from None
        output = struck_out(answer.text, credentials.secrets, cut=answer.cut) or None
        if answer.status in self._call.success:
            return output
        failure = failure_of(answer, self._clock.wall(), self._read_retry_after)
        failure.output = output
        raise failure

    async def _answer(self, run: Run, body: bytes, credentials: _Credentials) -> Answer:
        """The answer at the end of the redirects that the job follows."""
        step = _Step(self._call.target, self._call.method, body)
        for _ in range(self._call.redirects + 1):
            answer = await self._hop(run, step, credentials)
            run.log(f"{step.method} {step.target.origin}: {told(answer.status)}")
            following = answer.status in REDIRECTS and answer.status not in self._call.success
            if not following or not self._call.redirects:
                return answer
            step = _redirected(step, answer)
        raise PermanentFailure(f"{self._call.target.origin}: more than {self._call.redirects} redirects")

    async def _hop(self, run: Run, step: _Step, credentials: _Credentials) -> Answer:
        try:
            addresses = await self._call.guard.addresses(step.target, self._resolve)
        except InvalidSpec as error:
            raise PermanentFailure(f"refused by the guard: {error}") from None
        except OSError as error:
            words = error.strerror or "not found"
            raise RetryableFailure(f"{step.target.host}: cannot be looked up: {words}") from None
        headers = self._headers(run, step, credentials)
        hop = client.Hop(step.target, addresses, step.method, headers, step.body)
        return await client.send(hop, self._call.answer_bytes_max, self._tls)

    def _headers(self, run: Run, step: _Step, credentials: _Credentials) -> dict[str, str]:
        """Everything at the origin that the job names; hardly anything at another."""
        of_body = {"Content-Type": "application/json"} if step.body else {}
        headers = _merged({**FORM, **about(run), **of_body}, credentials.headers)
        if step.elsewhere:
            return {name: value for name, value in headers.items() if name.lower() in GO_ANYWHERE} | {
                "Accept-Encoding": FORM["Accept-Encoding"]
            }
        if not credentials.signing:
            return headers
        try:
            signed = signed_headers(webhook_id(run.key), self._clock.wall(), step.body, credentials.signing)
        except BadSignature as error:
            raise RetryableFailure(str(error)) from None
        return headers | signed


@dataclass(frozen=True)
class _Credentials:
    """What one attempt read; never shown."""

    headers: Mapping[str, str]
    signing: tuple[str, ...]
    secrets: tuple[str, ...]


@dataclass(frozen=True)
class _Step:
    """One request of a chain of redirects; `elsewhere` once it has left the origin that the job names."""

    target: Target
    method: str
    body: bytes
    elsewhere: bool = False


async def _credentials(call: HttpCall) -> _Credentials:
    """Files may be slow, and are read in a thread."""
    return await asyncio.to_thread(_read, call) if call.reads_files else _read(call)


def _read(call: HttpCall) -> _Credentials:
    headers = read_headers(call.headers)
    signing = tuple(read_signing_secret(one) for one in call.secrets)
    return _Credentials(headers, signing, (*signing, *secrets_among(call.headers, headers)))


def _redirected(step: _Step, answer: Answer) -> _Step:
    """The next request. Where it may go is the guard's to say, as for the first."""
    if not answer.location:
        raise PermanentFailure(f"{told(answer.status)}: a redirect that says not where to")
    try:
        there = step.target.joined(answer.location)
    except InvalidSpec as error:
        raise PermanentFailure(f"redirected to where the job does not follow: {error}") from None
    elsewhere = step.elsewhere or there.origin != step.target.origin
    moved = replace(step, target=there, elsewhere=elsewhere)
    keeps_method = answer.status not in TO_A_GET or step.method in ("GET", "HEAD")
    if elsewhere and keeps_method and step.body:
        raise PermanentFailure(
            f"{told(answer.status)}: a redirect to {there.origin}, which the job does not name and which "
            f"would get its body; where that is meant, let the job's url name it"
        )
    return moved if keeps_method else replace(moved, method="GET", body=b"")


def _merged(ours: Mapping[str, str], stated: Mapping[str, str]) -> dict[str, str]:
    """The stated ones win, whatever the case of their names."""
    names = {name.lower() for name in stated}
    return {name: value for name, value in ours.items() if name.lower() not in names} | dict(stated)
