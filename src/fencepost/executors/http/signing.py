"""Signatures in the manner of Standard Webhooks, and how a receiver checks them.

What is signed is `id.timestamp.body`. The id holds no dot, so that the three parts can be told apart in one
way only. With several secrets there is one signature for each, the newest first: a receiver that knows any of
them accepts, and so a secret can be changed without a moment in which nothing fits.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from fencepost.errors import BadSignature
from fencepost.executors.http.limits import TOLERANCE_DEFAULT
from fencepost.executors.http.secrets import WEBHOOK_PREFIX
from fencepost.model.times import to_epoch_s

ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"
VERSION = "v1"

_SECONDS = re.compile(r"[0-9]{1,12}", re.ASCII)


def signed_headers(webhook_id: str, now: datetime, body: bytes, secrets: Iterable[str]) -> dict[str, str]:
    """The three headers; one signature a secret."""
    stamp = str(to_epoch_s(now))
    signatures = [f"{VERSION},{_signature(secret, webhook_id, stamp, body)}" for secret in secrets]
    assert signatures, "signed with nothing"
    return {ID: webhook_id, TIMESTAMP: stamp, SIGNATURE: " ".join(signatures)}


def verify(
    headers: Mapping[str, str],
    body: bytes,
    secrets: str | Iterable[str],
    now: datetime,
    tolerance: timedelta = TOLERANCE_DEFAULT,
) -> str:
    """The webhook's id, good for telling repeats, or `BadSignature`. `body` is what came, byte for byte."""
    given = {name.lower(): value for name, value in headers.items()}
    webhook_id, stamp, signatures = (given.get(name, "") for name in (ID, TIMESTAMP, SIGNATURE))
    if not (webhook_id and stamp and signatures):
        raise BadSignature(f"a header is missing: {ID}, {TIMESTAMP} or {SIGNATURE}")
    if "." in webhook_id or not _SECONDS.fullmatch(stamp):
        raise BadSignature(f"{ID} or {TIMESTAMP} is not of the expected form")
    if abs(to_epoch_s(now) - int(stamp)) > tolerance.total_seconds():
        raise BadSignature(f"{TIMESTAMP} is more than {tolerance} from now")
    known = [secrets] if isinstance(secrets, str) else list(secrets)
    expected = [_signature(secret, webhook_id, stamp, body).encode() for secret in known]
    offered = [text.encode() for kind, _, text in map(_parted, signatures.split(" ")) if kind == VERSION]
    # Every pair is compared, so that the time it takes tells nothing of which one fits.
    fitting = [hmac.compare_digest(one, other) for one in expected for other in offered]
    if not any(fitting):
        raise BadSignature("no signature fits")
    return webhook_id


def _signature(secret: str, webhook_id: str, stamp: str, body: bytes) -> str:
    content = f"{webhook_id}.{stamp}.".encode() + body
    return base64.b64encode(hmac.new(_key(secret), content, hashlib.sha256).digest()).decode()


def _key(secret: str) -> bytes:
    """The bytes of a key: base64 behind `whsec_`, any other text as it stands."""
    if not secret.startswith(WEBHOOK_PREFIX):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(WEBHOOK_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise BadSignature(f"a secret that begins with {WEBHOOK_PREFIX} is not base64 behind it") from None


def _parted(text: str) -> tuple[str, str, str]:
    return text.partition(",")
