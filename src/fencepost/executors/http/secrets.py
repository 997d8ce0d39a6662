"""The secrets of a call: `env:NAME` or `file:/path`, read each time and never shown.

Here the job's definition says where a secret is kept, and so no payload chooses it. What was read is struck
out of all that this process writes, and out of what is kept of an answer before it leaves this package: a
target may send back what it got, and a cut may leave a piece of it.
"""

from __future__ import annotations

from collections.abc import Iterable

from fencepost.errors import InvalidSpec, RetryableFailure
from fencepost.executors.http.limits import SECRET_LENGTH_MIN, SECRETS_MAX
from fencepost.model.secret import MASK, is_reference
from fencepost.telemetry.secret_source import Source
from fencepost.telemetry.secrets import LENGTH_MIN, remember, spellings

WEBHOOK_PREFIX = "whsec_"


def parse_references(given: object) -> tuple[Source, ...]:
    """One reference, or several: the first is the newest."""
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list | tuple) or not 1 <= len(texts) <= SECRETS_MAX:
        raise InvalidSpec(f'secret: expected "env:NAME", "file:/path", or a list of up to {SECRETS_MAX} such')
    for one in texts:
        if not isinstance(one, str) or not is_reference(one):
            # What stands there instead may be the secret itself.
            raise InvalidSpec('secret: expected where it is kept, "env:NAME" or "file:/path", not the secret')
    return tuple(Source(one) for one in texts)


def read_secret(source: Source, name: str) -> str:
    """The value as it is now, which nothing that this process writes shows from here on."""
    value = source.read(name).strip()
    for form in _forms(value):
        remember(form)
    return value


def read_signing_secret(source: Source) -> str:
    """As `read_secret`, and long enough to sign with."""
    value = read_secret(source, "signing")
    if len(value) < SECRET_LENGTH_MIN:
        limit = f"at least {SECRET_LENGTH_MIN} characters"
        raise RetryableFailure(f"secret signing: {source.text}: expected {limit}")
    return value


def struck_out(text: str, secrets: Iterable[str], *, cut: bool = False) -> str:
    """The text without the secrets, nor the piece of one that a cut left at its end."""
    known = {one for secret in secrets for form in _forms(secret) for one in spellings(form)}
    for secret in sorted(known, key=lambda one: (-len(one), one)):
        text = text.replace(secret, MASK)
        if cut:
            text = _without_piece(text, secret)
    return text


def _forms(secret: str) -> tuple[str, ...]:
    """A key may be told without the prefix that says how it is written."""
    return tuple({secret, secret.removeprefix(WEBHOOK_PREFIX)} - {""})


def _without_piece(text: str, secret: str) -> str:
    for length in range(len(secret) - 1, LENGTH_MIN - 1, -1):
        if text.endswith(secret[:length]):
            return text[:-length] + MASK
    return text
