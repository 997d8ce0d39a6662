"""A command, started for a run and waited for."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from fencepost.errors import InvalidPayload, InvalidSpec, PermanentFailure, RetryableFailure
from fencepost.executors.command import launch
from fencepost.executors.command.allowed import AllowList
from fencepost.executors.command.environment import environment_of, remember_secrets
from fencepost.executors.command.group import Group
from fencepost.executors.command.spec import PAYLOAD_BYTES_MAX, Command, read_command
from fencepost.executors.output import Output
from fencepost.executors.secrets import Secrets
from fencepost.executors.statuses import how_it_ended
from fencepost.model.json import JsonObject
from fencepost.ports.run import Run

PERMANENT_EXITS = range(64, 79)
LAUNCHER = str(Path(launch.__file__).resolve())


class CommandExecutor:
    """One command. `allowed` says which programs may be started; it is asked now and before each start."""

    stoppable = True

    def __init__(
        self,
        command: Command | Sequence[str],
        environment: Mapping[str, str] | None = None,
        allowed: AllowList | None = None,
        secrets: Secrets | None = None,
    ) -> None:
        self._command = (
            command if isinstance(command, Command) else read_command(command, environment=environment)
        )
        self._allowed = allowed or AllowList()
        self._secrets = secrets or Secrets()
        for name in self._command.pass_secrets.values():
            self._secrets.require(name)
        program = self._command.program()
        if str(self._allowed) and (program is None or self._allowed.real_path(program) is None):
            raise InvalidSpec(self._not_allowed())

    @property
    def argv(self) -> tuple[str, ...]:
        """The command's words."""
        return self._command.argv

    def check(self, payload: JsonObject) -> None:
        if len(json.dumps(payload)) > PAYLOAD_BYTES_MAX:
            raise InvalidPayload(f"payload: longer than {PAYLOAD_BYTES_MAX} bytes as JSON")

    async def execute(self, run: Run) -> str | None:
        group = await self._started(run)
        try:
            status = await group.ended()
            await group.say_last_words()
            refusal = group.refusal()
        except asyncio.CancelledError:
            run.left_output = group.output
            await asyncio.shield(group.end())
            run.left_output = group.output
            raise
        finally:
            group.close()
        if refusal is not None:
            raise self._cannot_start(refusal)
        return _verdict(status, group.output)

    async def _started(self, run: Run) -> Group:
        """The process; one that is cancelled while it starts is ended like any other."""
        starting = asyncio.create_task(self._start(run))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            await asyncio.shield(_end_started(starting))
            raise

    async def _start(self, run: Run) -> Group:
        passed = self._secrets.values(self._command.pass_secrets)
        environment = environment_of(run, self._command.environment, self._command.pass_environment, passed)
        remember_secrets(environment)
        program, group = self._program(), Group(Output(run), run.heartbeat)
        reading, writing = os.pipe()
        try:
            transport, _ = await asyncio.get_running_loop().subprocess_exec(
                lambda: group,
                *self._launched(program, writing, "LC_CTYPE" in environment),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                env=environment,
                cwd=self._command.cwd,
                umask=-1 if self._command.umask is None else self._command.umask,
                pass_fds=(writing,),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            os.close(reading)
            raise self._cannot_start(_reason(error)) from None
        finally:
            os.close(writing)
        group.lead(transport, reading)
        return group

    def _program(self) -> str:
        program = self._command.program()
        if program is None:
            raise self._cannot_start("it is not on the job's PATH")
        real = self._allowed.real_path(program)
        if real is None:
            raise PermanentFailure(self._not_allowed())
        return real

    def _launched(self, program: str, answer_fd: int, has_lc_ctype: bool) -> list[str]:
        settings = {
            "limits": self._command.limits.for_kernel(),
            "has_lc_ctype": has_lc_ctype,
            "worker_pid": os.getpid(),
        }
        launcher = [sys.executable, "-I", "-S", LAUNCHER, str(answer_fd), json.dumps(settings)]
        return [*launcher, program, *self._command.argv]

    def _cannot_start(self, reason: str) -> PermanentFailure:
        return PermanentFailure(f"cannot start {self._command.argv[0]}: {reason}")

    def _not_allowed(self) -> str:
        return f"command {self._command.argv[0]}: is not among the programs allowed here ({self._allowed})"


async def _end_started(starting: asyncio.Task[Group]) -> None:
    with suppress(PermanentFailure):
        group = await starting
        try:
            await group.end()
        finally:
            group.close()


def _reason(error: OSError | ValueError) -> str:
    """A value that no environment can hold, such as a key with a NUL, is a ValueError."""
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)
    return f"its environment cannot be written: {error}"


def _verdict(status: int, output: str | None) -> str | None:
    if status == 0:
        return output
    how = how_it_ended(status)
    failure: RetryableFailure | PermanentFailure
    failure = PermanentFailure(how) if status in PERMANENT_EXITS else RetryableFailure(how)
    failure.output = output
    raise failure
