"""Changes that are repeated under one `Idempotency-Key` happen once.

The first call with a key is carried out and its answer kept; later ones get that answer. Where the first was
cut off before its answer was kept, the next one carries the change out again, with the time of the first
call. What it writes under a key made of that time it writes once, and a refusal because the first call had
done it already is answered as done. A call that was refused was not carried out, and leaves its key free.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from typing import Any, assert_never

import msgspec
from litestar import Response

from fencepost.errors import StoreUnavailable
from fencepost.model.idempotency import Begun, InFlight, KeptResponse, Mismatch
from fencepost.model.identifiers import Namespace
from fencepost.operations.operation import Operation
from fencepost.ports.idempotency import IdempotencyKeys
from fencepost.web.problems import INVALID, KEY_MISUSED, KEY_PENDING, Problem, Refusal
from fencepost.web.serving import Caller, Once

KEY_LENGTH_MAX = 200
HOLD_S = 60.0
REPLAYED = "Idempotency-Replayed"
KEPT_HEADERS = ("etag",)

CarryOut = Callable[[Once | None], Awaitable[Response[bytes]]]


class Idempotency:
    """The keys of one store."""

    def __init__(self, book: IdempotencyKeys) -> None:
        self._book = book

    async def once(
        self,
        one: Operation[Any, Any, Any],
        caller: Caller,
        key: str | None,
        request: Any,
        carry_out: CarryOut,
    ) -> Response[bytes]:
        """The answer, whether it is made now or was made before."""
        if key is None or one.secret:
            return await carry_out(None)
        whose = caller.namespace, caller.principal.credential_id, key
        match await self._book.begin(*whose, fingerprint(one, request), HOLD_S):
            case Begun(requested_at, again):
                return await self._first(whose, carry_out, Once(key, requested_at, again))
            case KeptResponse(status, body, headers):
                told = {**headers, REPLAYED: "true"}
                return Response(body, status_code=status, media_type="application/json", headers=told)
            case InFlight():
                told_s = {"Retry-After": "1"}
                raise Refusal(Problem(KEY_PENDING, "the first call with this key has no answer yet", told_s))
            case Mismatch():
                raise Refusal(Problem(KEY_MISUSED, "this key was used for something else; make a new one"))
            case other:
                assert_never(other)

    async def _first(
        self, whose: tuple[Namespace, str, str], carry_out: CarryOut, once: Once
    ) -> Response[bytes]:
        try:
            answer = await carry_out(once)
        except StoreUnavailable:
            raise  # Whether it was carried out is unknown, and the keys cannot be read either.
        except BaseException:
            await self._book.drop(*whose)
            raise
        headers = {name: value for name, value in answer.headers.items() if name.lower() in KEPT_HEADERS}
        await self._book.keep(*whose, answer.status_code or 200, answer.content, headers)
        return answer


def key_of(header: str | None) -> str | None:
    """The key in the header; refused where it is no valid key."""
    if header is None:
        return None
    if not header or len(header) > KEY_LENGTH_MAX or not header.isascii() or not header.isprintable():
        told = f"Idempotency-Key: expected 1 to {KEY_LENGTH_MAX} printable ASCII characters"
        raise Refusal(Problem(INVALID, told))
    return header


def fingerprint(one: Operation[Any, Any, Any], request: Any) -> str:
    """A digest of the request: two calls that ask for the same have the same."""
    return hashlib.sha256(one.name.encode() + b"\0" + msgspec.json.encode(request)).hexdigest()
