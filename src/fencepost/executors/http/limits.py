"""Every limit of an HTTP call, in one place."""

from __future__ import annotations

from datetime import timedelta

URL_LENGTH_MAX = 2_048
HOST_LENGTH_MAX = 253
LABEL_LENGTH_MAX = 63
ADDRESSES_MAX = 32
"""A name with more addresses than this is refused: each of them would have to be checked and kept."""
LOOKUPS_MAX = 32
"""How many names are looked up at once, over all jobs of a process."""

HEADERS_MAX = 50
HEADER_LENGTH_MAX = 4_096
SECRETS_MAX = 8
SECRET_LENGTH_MIN = 8
"""Of what signs, and of what is struck out because of its header's name."""
BODY_BYTES_MAX = 1_000_000
TEMPLATE_DEPTH_MAX = 32

DEADLINE_DEFAULT = timedelta(seconds=30)
DEADLINE_MAX = timedelta(hours=1)
ANSWER_BYTES_MAX = 64 * 1024
"""As much as the ledger keeps of an output."""
ANSWER_LINE_BYTES_MAX = 8_190
ANSWER_HEADERS_MAX = 64
READ_BYTES = 16 * 1024

REDIRECTS_MAX = 10
PORTS_DEFAULT = (80, 443)
PORTS_MAX = 100
SUCCESS_MAX = 100
TOLERANCE_DEFAULT = timedelta(minutes=5)
"""How far a webhook's timestamp may be from the receiver's clock."""
