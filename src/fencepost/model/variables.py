"""The environment variables of Fencepost: FENCEPOST_ and the name of a setting, and a few more."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches

from fencepost.errors import InvalidSettings

PREFIX = "FENCEPOST_"
PAGE = "docs/reference/settings.md"
"""The page that lists all of them."""
OF_COMMANDS = {
    "ACTOR": "who calls, for the audit log",
    "SERVER": "the server that does what a command asks, as `--server`",
    "LOG_LEVEL": "the level of the log, as `--log-level`",
    "LOG_JSON": "one JSON object a line of the log, as `--log-json`",
    "TLS_CERT": "the certificate of the web, as `--tls-cert`",
    "TLS_KEY": "its key, as `--tls-key`",
}
"""Variables that commands read themselves."""
OF_RUNS = ("RUN_KEY", "SCHEDULE", "JOB", "FIRE_TIME", "ATTEMPT", "FENCE", "PAYLOAD", "AFTER")
"""Variables that a command gets when it is a job; such a command may call Fencepost."""
OTHER_NAMES = dict.fromkeys(("DB", "DATABASE", "DATABASE_URL", "DSN", "URL"), "STORE")
"""Names that other programs use for it."""
NOT_READ = re.compile(r"TEST_\w+|(.+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?)")
"""What our tests read, and what Kubernetes sets for each service whose name begins with fencepost."""


def check_variables(environment: Mapping[str, str], settings: Iterable[str]) -> None:
    """Refuse a variable of ours that nothing reads. The message leaves out its value, which may be a
    secret."""
    known = {*settings, *OF_COMMANDS, *OF_RUNS}
    given = {one.removeprefix(PREFIX) for one in environment if one.startswith(PREFIX)}
    for name in sorted(given - known):
        if NOT_READ.fullmatch(name) is None:
            near = _nearest(name, known)
            hint = f"did you mean {PREFIX}{near}?" if near else f"known ones are in {PAGE}"
            raise InvalidSettings(f"unknown variable {PREFIX}{name}; {hint}")


def _nearest(name: str, known: Collection[str]) -> str | None:
    """The variable that this one is probably meant to be."""
    longer = [one for one in known if name.startswith(f"{one}_")]
    near = [*get_close_matches(name, known, n=1), *sorted(longer, key=len, reverse=True)]
    return OTHER_NAMES.get(name) or next(iter(near), None)
