"""A server elsewhere that carries operations out: `--server` and `--token`.

Its refusals are told as if they were our own. Where its answer is lost, or it is busy or away, a question is
asked again for a while; a change is too, under the same `Idempotency-Key`, so that it happens once. What
makes a secret takes no key: it is sent again only where it was surely not carried out.
"""

from __future__ import annotations

import http.client
import os
import ssl
from typing import Any, NoReturn, TypeVar
from urllib.parse import SplitResult, urlsplit
from uuid import uuid4

import msgspec
from msgspec import Struct

from fencepost.cli.options import Place
from fencepost.cli.patience import Patience
from fencepost.errors import InvalidSettings, StoreUnavailable, UsageError
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import checked_name
from fencepost.model.quoting import quoted
from fencepost.operations.operation import API, Operation
from fencepost.operations.wire import Call, to_call

ANSWER_WITHIN_S = 60.0
ANSWER_BYTES_MAX = 64 * 1024 * 1024
LOST = (OSError, http.client.HTTPException)
AWAY = (http.client.BAD_GATEWAY, http.client.SERVICE_UNAVAILABLE, http.client.GATEWAY_TIMEOUT)
UNKNOWN = {
    "tokens": "whether it was done is unknown; look with: fencepost token list",
    "links": "whether it was made is unknown; a link that nobody uses expires by itself",
}

Q = TypeVar("Q", bound=Struct)
A = TypeVar("A", bound=Struct)


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    body: bytes
    retry_after: str | None = None

    @property
    def turned_away(self) -> bool:
        """Whether it was surely not carried out, and may be in a moment."""
        return self.status == http.client.TOO_MANY_REQUESTS

    @property
    def pending(self) -> bool:
        """Whether the same call, under the same key, may be answered otherwise in a moment."""
        kind = self.told("type").rpartition(":")[2]
        if self.status == http.client.CONFLICT:
            return kind == "key-pending"
        return self.turned_away or (self.status in AWAY and kind != "too-slow")

    def told(self, name: str) -> str:
        """A word of a problem; empty where it is none."""
        try:
            return str(msgspec.json.decode(self.body)[name])
        except (msgspec.MsgspecError, KeyError, TypeError):
            return ""


class RemoteCaller:
    """One connection to one server."""

    def __init__(self, place: Place) -> None:
        assert place.server is not None
        self._url = _checked(place.server)
        if not place.token:
            raise UsageError("--server: show a token with --token, or in FENCEPOST_TOKEN")
        if not (place.token.isascii() and place.token.isprintable()):
            raise UsageError(
                "--token: expected printable ASCII characters, as fencepost token create shows them"
            )
        self._headers = {
            "Authorization": f"Bearer {place.token}",
            "Accept": "application/json",
            "User-Agent": "fencepost-cli",
        }
        if namespace := place.namespace or os.environ.get("FENCEPOST_NAMESPACE"):
            self._headers["Fencepost-Namespace"] = checked_name("namespace", namespace)
        self._reason = place.reason
        self._connection: http.client.HTTPConnection | None = None

    def call(self, operation: Operation[Any, Q, A], request: Q) -> A:
        """As `Caller`."""
        if self._reason and "reason" in operation.request.__struct_fields__:
            request = msgspec.structs.replace(request, reason=self._reason)
        asking = to_call(operation, request)
        headers = self._headers_of(operation, asking)
        if operation.secret:
            answer = self._ask_once(asking, headers, UNKNOWN[operation.tag])
        else:
            answer = self._ask(asking, headers)
        if answer.status >= http.client.BAD_REQUEST:
            _refuse(answer)
        try:
            return msgspec.json.decode(answer.body, type=operation.response)
        except msgspec.MsgspecError:
            told = "its answer is none of ours; is it a Fencepost of this version?"
            raise UsageError(f"--server {self._url.netloc}: {told}") from None

    def close(self) -> None:
        """As `Caller`."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _headers_of(self, operation: Operation[Any, Any, Any], asking: Call) -> dict[str, str]:
        headers = dict(self._headers)
        if operation.changes and not operation.secret:
            headers["Idempotency-Key"] = uuid4().hex
        if asking.if_match is not None:
            headers["If-Match"] = asking.if_match
        if asking.body is not None:
            headers["Content-Type"] = "application/json"
        return headers

    def _ask(self, asking: Call, headers: dict[str, str]) -> Answer:
        """Again and again while it may help; but not where nobody was ever there."""
        patience, reached = Patience(self._url.netloc), False
        while True:
            try:
                self._connect()
                reached = True
                answer = self._send(asking, headers)
            except LOST as error:
                self.close()
                if reached and patience.wait():
                    continue
                raise self._no_answer(error) from None
            if not (answer.pending and patience.wait(answer.retry_after)):
                return answer

    def _ask_once(self, asking: Call, headers: dict[str, str], unknown: str) -> Answer:
        """On a connection of its own, which nobody has closed meanwhile."""
        patience, sent = Patience(self._url.netloc), False
        while True:
            self.close()
            try:
                self._connect()
                sent = True
                answer = self._send(asking, headers)
            except LOST as error:
                raise self._no_answer(error, f"; {unknown}" if sent else "") from None
            if answer.status >= http.client.INTERNAL_SERVER_ERROR:
                raise StoreUnavailable(f"--server {self._url.netloc}: answered {answer.status}; {unknown}")
            if not (answer.turned_away and patience.wait(answer.retry_after)):
                return answer

    def _connect(self) -> None:
        if self._connection is None:
            found = _connection(self._url.scheme, self._url.netloc)
            found.connect()
            self._connection = found

    def _send(self, asking: Call, headers: dict[str, str]) -> Answer:
        assert self._connection is not None
        query = f"?{asking.query}" if asking.query else ""
        target = f"{self._url.path.rstrip('/')}{API}{asking.path}{query}"
        self._connection.request(asking.method, target, asking.body, headers)
        with self._connection.getresponse() as response:
            body = response.read(ANSWER_BYTES_MAX)
            return Answer(response.status, body, response.headers["Retry-After"])

    def _no_answer(self, error: Exception, more: str = "") -> StoreUnavailable:
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return StoreUnavailable(f"--server {self._url.netloc}: no answer: {why}{more}")


def _connection(scheme: str, netloc: str) -> http.client.HTTPConnection:
    if scheme == "https":
        return http.client.HTTPSConnection(
            netloc, timeout=ANSWER_WITHIN_S, context=ssl.create_default_context()
        )
    return http.client.HTTPConnection(netloc, timeout=ANSWER_WITHIN_S)


def _checked(server: str) -> SplitResult:
    wrong = InvalidSettings(f"--server {quoted(server)}: expected such as https://cron.example.org:8580")
    if not (server.isascii() and server.isprintable()) or " " in server:
        raise wrong
    try:
        url = urlsplit(server)
        port = url.port
    except ValueError:
        raise wrong from None
    more = url.username or url.password or url.query or url.fragment
    if url.scheme not in ("http", "https") or not url.hostname or more or port == 0:
        raise wrong
    return url


def _refuse(answer: Answer) -> NoReturn:
    """The server's own words; a 5xx may have been carried out or not."""
    status = answer.status
    named = f"the server answered {status} {http.client.responses.get(status, '')}".rstrip()
    told = answer.told("detail") or named
    if status >= http.client.INTERNAL_SERVER_ERROR:
        raise StoreUnavailable(told)
    if status == http.client.UNAUTHORIZED:
        raise UsageError(f"{told}; show another with --token, or in FENCEPOST_TOKEN")
    raise UsageError(told)
