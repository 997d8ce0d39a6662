"""Commands as jobs, from the words people use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fencepost.app.words import JobWords, job_spec, own_words
from fencepost.errors import InvalidSpec
from fencepost.executors.command import AllowList, CommandExecutor
from fencepost.executors.command.spec import read_command
from fencepost.executors.secrets import Secrets
from fencepost.model.job import JobSpec


class CommandWords(JobWords, total=False):
    """What a job says beside its argv."""

    environment: Mapping[str, str]
    pass_environment: Sequence[str]
    pass_secrets: Mapping[str, str]
    limits: Mapping[str, Any]
    cwd: str
    umask: str | int


def command_work(
    name: str, argv: Sequence[str], allowed: AllowList, words: CommandWords, secrets: Secrets | None = None
) -> tuple[JobSpec, CommandExecutor]:
    """The job, and the way to do it."""
    around = own_words(name, CommandWords, words)
    try:
        executor = CommandExecutor(read_command(argv, **around), allowed=allowed, secrets=secrets)
    except InvalidSpec as error:
        raise InvalidSpec(f"job {name}: {error}") from None
    return job_spec(name, words), executor
