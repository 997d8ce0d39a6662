"""Whether the process of this container lives: exits with 0 or 1.

Schedulers, workers and processors answer on the port of their metrics, the web on its own. The arguments may
name other addresses.
"""

import sys
from http.client import HTTPException
from urllib.request import urlopen

ADDRESSES = ("http://127.0.0.1:9580/healthz", "http://127.0.0.1:8580/healthz")
ANSWER_MAX_S = 2.0


def lives(address: str) -> bool:
    """Whether that address answers with 200."""
    try:
        with urlopen(address, timeout=ANSWER_MAX_S) as answer:
            return bool(answer.status == 200)
    except (OSError, HTTPException):
        return False


if __name__ == "__main__":
    given = tuple(sys.argv[1:]) or ADDRESSES
    if not any(map(lives, given)):
        sys.exit(f"no answer from {' or '.join(given)}")
