"""The secrets that this process has read, masked in every text that Fencepost writes.

The code that reads a secret for a job remembers it here first, so everything that the job then prints,
returns or raises is masked on its way into the ledger and into the logs. Masking knows the value as it is and
as it looks in JSON, in a `repr`, in a URL and in base64; of a secret of several lines it also knows each
longer line. A text is masked before it is cut, because half a secret does not look like one.

Values stay known until newer ones displace them: a rotated secret is still a secret. Fencepost's own
credentials are recognised by their form, whether or not this process has read them.
"""

from __future__ import annotations

import base64
import json
import re
from collections import OrderedDict
from threading import Lock
from urllib.parse import quote, quote_plus

from fencepost.model.secret import CREDENTIAL_TEXT, MASK, hide_credentials

KEPT_MAX = 1_000
LENGTH_MIN = 4
"""A shorter value looks like ordinary text."""
LINE_LENGTH_MIN = 8


class LiveSecrets:
    """Values, the latest of them; safe to use from any thread."""

    def __init__(self, kept_max: int = KEPT_MAX) -> None:
        self._kept_max = kept_max
        self._lock = Lock()
        self._spellings: OrderedDict[str, tuple[str, ...]] = OrderedDict()
        self._pattern: re.Pattern[str] | None = None

    def remember(self, value: str) -> None:
        """Mask this from now on."""
        with self._lock:
            if value in self._spellings:
                self._spellings.move_to_end(value)
                return
            self._spellings[value] = spellings(value)
            while len(self._spellings) > self._kept_max:
                self._spellings.popitem(last=False)
            known = {one for each in self._spellings.values() for one in each}
            # The longest first: one secret may begin like another.
            longest_first = sorted(known, key=lambda one: (-len(one), one))
            self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    def mask(self, text: str) -> str:
        """The text without any of them."""
        pattern = self._pattern
        return hide_credentials(text if pattern is None else pattern.sub(MASK, text))

    def seam(self, text: str, at: int) -> int:
        """The last place up to this one where a cut goes through none of them."""
        patterns = [CREDENTIAL_TEXT, *([] if self._pattern is None else [self._pattern])]
        through = [
            found.start()
            for pattern in patterns
            for found in pattern.finditer(text)
            if found.start() < at < found.end()
        ]
        return min(through, default=at)


def spellings(value: str) -> tuple[str, ...]:
    """Every form in which a value may appear."""
    if len(value) < LENGTH_MIN:
        return ()
    lines = [line.strip() for line in value.splitlines()]
    forms = {
        value,
        value.strip(),
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        repr(value)[1:-1],
        quote(value),
        quote(value, safe=""),
        quote_plus(value),
        base64.b64encode(value.encode()).decode().rstrip("="),
        base64.urlsafe_b64encode(value.encode()).decode().rstrip("="),
        *(line for line in lines if len(line) >= LINE_LENGTH_MIN),
    }
    return tuple(sorted(one for one in forms if len(one) >= LENGTH_MIN))


LIVE = LiveSecrets()


def remember(value: str) -> None:
    """Mask this in everything that this process writes from now on."""
    LIVE.remember(value)


def mask(text: str) -> str:
    """The text without the secrets that this process has read."""
    return LIVE.mask(text)


def seam(text: str, at: int) -> int:
    """The last place up to this one where a text can be cut, and each part masked by itself."""
    return LIVE.seam(text, at)


def mask_any(text: str | None) -> str | None:
    """The same where there may be no text."""
    return None if text is None else LIVE.mask(text)
