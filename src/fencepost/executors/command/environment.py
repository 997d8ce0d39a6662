"""A command's environment, built from nothing: what every command gets, what the job declares, and its run.

Nothing of the worker's own environment comes along unless the job names it, so neither its secrets nor what
would change a program's behaviour (LD_PRELOAD, PYTHONPATH, BASH_ENV…) is inherited by accident.
"""

from __future__ import annotations

import json
import os
import pwd
import re
from collections.abc import Iterable, Mapping

from fencepost.model.chain import predecessors_to_json
from fencepost.model.masking import is_secret
from fencepost.model.times import to_utc_text
from fencepost.ports.run import Run
from fencepost.telemetry.secrets import remember

PATH = "/usr/local/bin:/usr/bin:/bin"
LANG = "C.UTF-8"
SECRET_LENGTH_MIN = 8
AFTER_LENGTH_MAX = 65_536
OF_THE_RUN = (
    "FENCEPOST_RUN_KEY",
    "FENCEPOST_SCHEDULE",
    "FENCEPOST_JOB",
    "FENCEPOST_FIRE_TIME",
    "FENCEPOST_ATTEMPT",
    "FENCEPOST_FENCE",
    "FENCEPOST_PAYLOAD",
    "FENCEPOST_AFTER",
)
"""What only the run itself can say."""

_RANDOM = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])[\w+/=~-]{16,}|[0-9a-fA-F]{32,}")


def environment_of(
    run: Run, declared: Mapping[str, str], passed: Iterable[str], secrets: Mapping[str, str] | None = None
) -> dict[str, str]:
    """All of it; what comes later wins, and the run comes last."""
    inherited = {name: os.environ[name] for name in passed if name in os.environ}
    traced = {name.upper(): value for name, value in run.trace_context.items()}
    return {**standing(), **inherited, **declared, **(secrets or {}), **traced, **about(run)}


def remember_secrets(environment: Mapping[str, str]) -> None:
    """Strike out of all that this process writes what is called a secret there; short values are words, and
    what the run says of itself has to be read."""
    for name, value in environment.items():
        if name not in OF_THE_RUN and len(value) >= SECRET_LENGTH_MIN and _is_secret(name, value):
            remember(value)


def _is_secret(name: str, value: str) -> bool:
    """Keys are of many kinds, and most are names: those that name no secret are told by their values."""
    return is_secret(name, value) or (name.lower().endswith("_key") and _RANDOM.fullmatch(value) is not None)


def standing() -> dict[str, str]:
    """What every command gets, however the worker was started."""
    try:
        user = pwd.getpwuid(os.geteuid())
    except KeyError:
        return {"PATH": PATH, "HOME": "/", "SHELL": "/bin/sh", "LANG": LANG}
    return {
        "PATH": PATH,
        "HOME": user.pw_dir,
        "USER": user.pw_name,
        "LOGNAME": user.pw_name,
        "SHELL": user.pw_shell or "/bin/sh",
        "LANG": LANG,
    }


def about(run: Run) -> dict[str, str]:
    """What a command may know about its run. The payload is one JSON text, whatever is in it, and so is what
    it followed."""
    values = (
        run.key,
        run.schedule_id or "",
        run.job,
        to_utc_text(run.fire_time),
        str(run.attempt),
        str(run.fence),
        json.dumps(run.payload),
        _after(run),
    )
    return dict(zip(OF_THE_RUN, values, strict=True))


def _after(run: Run) -> str:
    """The system bounds a variable: results that are too long for it are left out."""
    after = predecessors_to_json(run.after)
    full = json.dumps(after)
    return full if len(full) <= AFTER_LENGTH_MAX else json.dumps([{**one, "result": None} for one in after])
