"""Credentials from a program: the `exec` entry of a kubeconfig, as the managed clouds need it.

The program is called without a terminal, with what it may know in KUBERNETES_EXEC_INFO, and prints an
ExecCredential. It is bounded: it and all that it has started are ended when it takes too long. Its standard
error is thrown away, because it may contain secrets.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from fencepost.errors import InvalidSettings, LeaseStoreUnavailable
from fencepost.leases.kubernetes.credentials import Certificate, Identity
from fencepost.model.dataclasses import dataclass

PLUGIN_TIMEOUT_S = 15.0
END_TIMEOUT_S = 5.0
AHEAD = timedelta(seconds=60)
"""How long before its end a credential is looked for anew."""
VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")


@dataclass(frozen=True)
class Plugin:
    """A program to run, from a folder's kubeconfig."""

    command: str
    arguments: tuple[str, ...] = field(repr=False)
    environment: Mapping[str, str] = field(repr=False)
    version: str
    hint: str
    cluster: Mapping[str, Any] | None

    async def run(self) -> Identity:
        """What the program answers. Bounded."""
        try:
            process = await self._start()
        except OSError as error:
            raise InvalidSettings(self._says(f"cannot be started: {error.strerror}")) from None
        try:
            async with asyncio.timeout(PLUGIN_TIMEOUT_S):
                output, _ = await process.communicate()
        except TimeoutError:
            raise LeaseStoreUnavailable(self._says(f"took more than {PLUGIN_TIMEOUT_S:g} s")) from None
        finally:
            await _end(process)
        if process.returncode:
            raise LeaseStoreUnavailable(self._says(f"ended with {process.returncode}; run it by hand"))
        return self._read(output)

    async def _start(self) -> Process:
        spec = {"interactive": False} | ({"cluster": self.cluster} if self.cluster else {})
        info = {"apiVersion": self.version, "kind": "ExecCredential", "spec": spec}
        return await asyncio.create_subprocess_exec(
            self.command,
            *self.arguments,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=DEVNULL,
            env={**os.environ, **self.environment, "KUBERNETES_EXEC_INFO": json.dumps(info)},
            start_new_session=True,
        )

    def _read(self, output: bytes) -> Identity:
        try:
            answer = json.loads(output)
            if (answer["kind"], answer["apiVersion"]) != ("ExecCredential", self.version):
                raise ValueError("another kind or version")
            return _identity(answer["status"])
        except (ValueError, KeyError, TypeError, AttributeError):
            raise LeaseStoreUnavailable(
                self._says(f"did not print an ExecCredential of {self.version} with a credential in it")
            ) from None

    def _says(self, complaint: str) -> str:
        hint = f" ({' '.join(self.hint.split())})" if self.hint else ""
        return f"the credentials plugin {self.command} {complaint}{hint}"


def plugin_of(entry: Mapping[str, Any], folder: Path, cluster: Mapping[str, Any]) -> Plugin:
    """The plugin that an `exec` entry describes, in a file of that folder."""
    version, command = entry.get("apiVersion"), entry.get("command")
    if version not in VERSIONS:
        raise InvalidSettings(f"exec apiVersion {version}: expected {' or '.join(VERSIONS)}")
    if not isinstance(command, str) or not command:
        raise InvalidSettings("exec without a command")
    if entry.get("interactiveMode") == "Always":
        raise InvalidSettings(f"the credentials plugin {command} asks at a terminal, and a node has none")
    return Plugin(
        command=str(folder / command) if os.sep in command else command,
        arguments=tuple(str(one) for one in entry.get("args") or ()),
        environment={str(one["name"]): str(one["value"]) for one in entry.get("env") or ()},
        version=version,
        hint=str(entry.get("installHint") or ""),
        cluster=cluster if entry.get("provideClusterInfo") else None,
    )


def _identity(status: Mapping[str, Any]) -> Identity:
    token, chain = status.get("token"), status.get("clientCertificateData")
    if not token and not chain:
        raise ValueError("no credential")
    ends = status.get("expirationTimestamp")
    expires_at = datetime.fromisoformat(ends) if ends else None
    if expires_at is not None and expires_at.tzinfo is None:
        raise ValueError("a time without a zone")
    return Identity(
        authorization=f"Bearer {token}" if token else None,
        certificate=Certificate(chain.encode(), status["clientKeyData"].encode()) if chain else None,
        stale_at=expires_at - AHEAD if expires_at else None,
        expires_at=expires_at,
    )


async def _end(process: Process) -> None:
    """Leave nothing of it behind, neither the program nor what it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(TimeoutError):
        async with asyncio.timeout(END_TIMEOUT_S):
            await process.wait()
