"""What a job declares about its command, checked once, when it is defined."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fencepost.errors import InvalidSpec
from fencepost.executors.command.environment import OF_THE_RUN, PATH
from fencepost.executors.command.limits import Limits, read_limits
from fencepost.model.quoting import quoted

PAYLOAD_BYTES_MAX = 100 * 1024
UMASK_MAX = 0o777

_UMASK = re.compile(r"0?[0-7]{3}", re.ASCII)


@dataclass(frozen=True)
class Command:
    """One argv and what is around it."""

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    pass_environment: tuple[str, ...] = ()
    pass_secrets: Mapping[str, str] = field(default_factory=dict)
    """The variables that hold a secret, each with the name of its secret."""
    limits: Limits = field(default_factory=Limits)
    cwd: str | None = None
    umask: int | None = None

    def program(self) -> str | None:
        """The path of the program: a bare name is looked for on the job's own PATH. None: it is not there."""
        name = self.argv[0]
        if "/" in name:
            return os.path.join(self.cwd or "", name)  # noqa: PTH118 - a Path would take a name's dots away
        found = shutil.which(name, path=self.environment.get("PATH", PATH))
        return None if found is None else os.path.abspath(found)  # noqa: PTH100 - the same


def read_command(
    argv: Any,
    *,
    environment: Any = None,
    pass_environment: Any = (),
    pass_secrets: Any = None,
    limits: Any = None,
    cwd: Any = None,
    umask: Any = None,
) -> Command:
    """A command from the words people use, of whatever type they are."""
    if isinstance(argv, str) or not argv or not all(isinstance(one, str) for one in argv):
        raise InvalidSpec(f"command {quoted(argv)}: expected a list of texts, and no shell reads them")
    if not argv[0] or any("\0" in one for one in argv):
        raise InvalidSpec("command names no program, or holds a NUL")
    if cwd is not None and (not isinstance(cwd, str) or not cwd.startswith("/") or "\0" in cwd):
        raise InvalidSpec(f"cwd {quoted(cwd)}: expected the whole path of a folder")
    if "/" in argv[0] and not argv[0].startswith("/") and cwd is None:
        raise InvalidSpec(
            f"command {quoted(argv[0])}: is relative to wherever the worker was started; "
            "write the whole path, or say cwd"
        )
    return Command(
        argv=tuple(argv),
        environment=_environment(environment or {}),
        pass_environment=_passed(pass_environment),
        pass_secrets=_environment(pass_secrets or {}),
        limits=read_limits(limits or {}),
        cwd=cwd,
        umask=None if umask is None else _umask(umask),
    )


def _environment(declared: Mapping[str, Any]) -> dict[str, str]:
    for name, value in declared.items():
        if not isinstance(value, str):
            raise InvalidSpec(f"environment {name} = {quoted(value)}: expected a text")
        if not name or "=" in name or "\0" in name + value:
            raise InvalidSpec(f"environment cannot hold the name {name!r} or its value")
        _refuse_faking(name)
    return dict(declared)


def _passed(names: Sequence[Any] | str) -> tuple[str, ...]:
    if isinstance(names, str):
        raise InvalidSpec(f'pass_environment {quoted(names)}: expected a list, such as ["AWS_REGION"]')
    for name in names:
        if not isinstance(name, str) or not name or "=" in name or "\0" in name:
            raise InvalidSpec(f"pass_environment {quoted(name)}: expected the name of a variable")
        _refuse_faking(name)
    return tuple(names)


def _refuse_faking(name: str) -> None:
    if name in OF_THE_RUN:
        raise InvalidSpec(f"environment {name}: only the run itself says that; choose another name")


def _umask(value: str | int) -> int:
    if type(value) is int and 0 <= value <= UMASK_MAX:
        return value
    if isinstance(value, str) and _UMASK.fullmatch(value):
        return int(value, 8)
    raise InvalidSpec(f'umask {quoted(value)}: expected three octal digits as a text, such as "027"')
