"""Credentials from a program: what it is told, how long its answer counts, and what if it hangs."""

import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from fencepost.errors import InvalidSettings, LeaseStoreUnavailable
from fencepost.leases.kubernetes import KubernetesLeases, leases, open_leases, plugin
from fencepost.model.identifiers import Shard
from fencepost.model.lease import Granted, Unknown
from fencepost.testing.clock import VirtualClock
from fencepost.testing.conformance.builders import ALICE
from tests.leases.kubernetes.behaviour import until
from tests.leases.kubernetes.double import Double
from tests.leases.kubernetes.on_double import DoubleBackend, write_kubeconfig

SHARD = Shard(0)
TTL_S = 1000.0
V1, V1BETA1 = plugin.VERSIONS


@pytest.fixture
def program(tmp_path: Path) -> "Program":
    return Program(tmp_path)


class Program:
    """A plugin that notes how often it ran and what it was told, and prints what the test wants."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "plugin"
        self.answer = folder / "answer"
        self.notes = folder / "notes"
        self.script('echo "$GREETING $1 $KUBERNETES_EXEC_INFO" >> "$HERE/notes"; cat "$HERE/answer"')
        self.says(token="secret")

    def script(self, text: str) -> None:
        self.path.write_text(f"#!/bin/sh\nHERE={self.folder}\n{text}\n")
        self.path.chmod(0o755)

    def says(self, version: str = V1, **status: str) -> None:
        answer = {"apiVersion": version, "kind": "ExecCredential", "status": status}
        self.answer.write_text(json.dumps(answer))

    def runs(self) -> int:
        return len(self.notes.read_text().splitlines())

    def entry(self, **more: Any) -> dict[str, Any]:
        return {"exec": {"apiVersion": V1, "command": "./plugin", **more}}

    async def opened(self, double: Double, clock: VirtualClock, **more: Any) -> KubernetesLeases:
        url = DoubleBackend(double).url
        kubeconfig = write_kubeconfig(self.folder / "config", url, self.entry(**more))
        return await open_leases(f"kubernetes://?kubeconfig={kubeconfig}", clock=clock)


async def test_a_plugin_is_not_left_in_the_dark(
    double: Double, clock: VirtualClock, program: Program
) -> None:
    leases = await program.opened(
        double,
        clock,
        args=["hello"],
        env=[{"name": "GREETING", "value": "well"}],
        provideClusterInfo=True,
    )
    await leases.close()
    greeting, argument, info = program.notes.read_text().strip().split(" ", 2)
    assert (greeting, argument) == ("well", "hello")
    cluster = {"server": DoubleBackend(double).url}
    spec = {"interactive": False, "cluster": cluster}
    assert json.loads(info) == {"apiVersion": V1, "kind": "ExecCredential", "spec": spec}


async def test_the_older_version_is_not_refused(
    double: Double, clock: VirtualClock, program: Program
) -> None:
    program.says(V1BETA1, token="secret")
    await (await program.opened(double, clock, apiVersion=V1BETA1)).close()


async def test_an_answer_without_an_end_is_not_asked_for_twice(
    double: Double, clock: VirtualClock, program: Program
) -> None:
    leases = await program.opened(double, clock)
    clock.advance(1_000_000)
    await leases.read()
    await leases.close()
    assert program.runs() == 1


async def test_an_answer_is_not_used_beyond_its_end(
    double: Double, clock: VirtualClock, program: Program
) -> None:
    program.says(token="secret", expirationTimestamp=after(clock, 900))
    leases = await program.opened(double, clock)
    clock.advance(800)
    await leases.read()
    assert program.runs() == 1
    program.says(token="newer")
    double.authorizations = {"Bearer newer"}
    clock.advance(100)
    assert await leases.read() == []
    await leases.close()
    assert program.runs() == 2
    assert double.refused == []


async def test_the_next_answer_is_not_waited_for_when_it_can_be_had_before(
    double: Double, clock: VirtualClock, program: Program
) -> None:
    program.says(token="secret", expirationTimestamp=after(clock, 900))
    leases = await program.opened(double, clock)
    program.says(token="newer", expirationTimestamp=after(clock, 1800))
    double.authorizations.add("Bearer newer")
    clock.advance(850)
    await leases.read()
    assert double.shown[-1] == "Bearer secret"
    await until(lambda: program.runs() == 2)
    for _ in range(100):
        await leases.read()
    await leases.close()
    assert double.shown[-1] == "Bearer newer"
    assert program.runs() == 2


async def test_a_plugin_that_takes_longer_than_a_call_does_not_start_again_each_time(
    double: Double, clock: VirtualClock, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await program.opened(double, clock)
    monkeypatch.setattr(leases, "REQUEST_TIMEOUT_S", 0.2)
    gate = program.folder / "gate"
    os.mkfifo(gate)
    program.script('echo again >> "$HERE/notes"; cat "$HERE/gate" > /dev/null; cat "$HERE/answer"')
    program.says(token="newer")
    double.authorizations = {"Bearer newer"}
    for _ in range(3):
        with pytest.raises(LeaseStoreUnavailable, match="no answer"):
            await store.read()
    assert program.runs() == 2
    gate.write_text("go")
    monkeypatch.setattr(leases, "REQUEST_TIMEOUT_S", 10.0)
    assert await store.read() == []
    await store.close()
    assert program.runs() == 2


async def test_a_plugin_that_hangs_does_not_hang_the_start_nor_stay(
    double: Double, clock: VirtualClock, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugin, "PLUGIN_TIMEOUT_S", 0.5)
    program.script('sleep 600 & echo "$! $$" > "$HERE/pids"; wait')
    with pytest.raises(LeaseStoreUnavailable, match=r"took more than 0\.5 s"):
        await program.opened(double, clock)
    pids = (program.folder / "pids").read_text().split()
    await until(lambda: not any(is_running(pid) for pid in pids))


async def test_a_plugin_does_not_outlive_the_store(
    double: Double, clock: VirtualClock, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await program.opened(double, clock)
    monkeypatch.setattr(leases, "REQUEST_TIMEOUT_S", 0.5)
    program.script('echo $$ > "$HERE/pids"; sleep 600')
    double.authorizations.clear()
    with pytest.raises(LeaseStoreUnavailable):
        await store.acquire([SHARD], ALICE, TTL_S)
    await until((program.folder / "pids").exists)
    await store.close()
    assert not is_running((program.folder / "pids").read_text().strip())


async def test_a_plugin_that_fails_later_does_not_end_the_node(
    double: Double, clock: VirtualClock, program: Program
) -> None:
    store = await program.opened(double, clock)
    held = (await store.acquire([SHARD], ALICE, TTL_S))[SHARD]
    assert isinstance(held, Granted)
    program.script("exit 3")
    double.authorizations.clear()
    answer = (await store.renew({SHARD: held.epoch}, ALICE, TTL_S))[SHARD]
    await store.close()
    assert isinstance(answer, Unknown)
    assert "ended with 3" in answer.why


@pytest.mark.parametrize(
    "output",
    [
        "hush",
        "[]",
        '{"kind": "ExecCredential"}',
        json.dumps({"kind": "ExecCredential", "apiVersion": V1BETA1, "status": {"token": "hush"}}),
        json.dumps({"kind": "ExecCredential", "apiVersion": V1, "status": {"clientKeyData": "hush"}}),
        json.dumps(
            {
                "kind": "ExecCredential",
                "apiVersion": V1,
                "status": {"token": "hush", "expirationTimestamp": "soon"},
            }
        ),
    ],
)
async def test_what_is_no_credential_is_not_taken_for_one(
    double: Double, clock: VirtualClock, program: Program, output: str
) -> None:
    program.answer.write_text(output)
    with pytest.raises(LeaseStoreUnavailable, match="did not print an ExecCredential") as refused:
        await program.opened(double, clock)
    assert "hush" not in str(refused.value)


async def test_what_a_plugin_complains_of_is_not_shown(
    double: Double, clock: VirtualClock, program: Program, capfd: pytest.CaptureFixture[str]
) -> None:
    program.script("echo hush >&2; exit 1")
    with pytest.raises(LeaseStoreUnavailable, match=r"ended with 1.*\(log in first\)") as refused:
        await program.opened(double, clock, installHint="log in\nfirst")
    assert "hush" not in str(refused.value)
    assert "hush" not in capfd.readouterr().err


async def test_a_plugin_that_is_not_there_is_a_mistake_in_the_settings(
    double: Double, clock: VirtualClock, program: Program
) -> None:
    with pytest.raises(InvalidSettings, match="cannot be started"):
        await program.opened(double, clock, command="no-such-program-anywhere")


async def test_a_plugin_that_wants_a_terminal_is_not_started(
    double: Double, clock: VirtualClock, program: Program
) -> None:
    with pytest.raises(InvalidSettings, match="terminal"):
        await program.opened(double, clock, interactiveMode="Always")
    assert not program.notes.exists()


def after(clock: VirtualClock, seconds: float) -> str:
    return (clock.wall() + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def is_running(pid: str) -> bool:
    """A zombie that nobody has waited for yet does not run."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
