"""What a call says of its run, so that a receiver can tell a repeat and a straggler.

`Idempotency-Key` is the same for every attempt of a run: a receiver that keeps it does the work once.
`Fencepost-Fence` rises with every attempt: a receiver that keeps the largest one refuses a straggler. The
jobs by HTTP send the same headers; this is their one definition.
"""

from __future__ import annotations

from datetime import datetime
from typing import Protocol
from urllib.parse import quote

from fencepost.model.times import to_utc_text

_VISIBLE = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) != "%")


class Attempt(Protocol):
    """What is told of an attempt; `fencepost.Run` is one."""

    @property
    def key(self) -> str: ...

    @property
    def fence(self) -> int: ...

    @property
    def attempt(self) -> int: ...

    @property
    def fire_time(self) -> datetime: ...


def headers(run: Attempt) -> dict[str, str]:
    """The headers for a call that is made on behalf of a run."""
    return {
        "Idempotency-Key": header_form(run.key),
        "Fencepost-Fence": str(run.fence),
        "Fencepost-Attempt": str(run.attempt),
        "Fencepost-Fire-Time": to_utc_text(run.fire_time),
    }


def header_form(run_key: str) -> str:
    """A run key as a header's value: what is not visible ASCII, and %, is percent-encoded as UTF-8. No two
    keys have the same form, and almost every key is its own."""
    return quote(run_key.encode("utf-8", "surrogatepass"), safe=_VISIBLE)
