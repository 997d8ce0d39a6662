"""Who a node is to the API server: tokens that rotate, certificates, and what a kubeconfig may not say."""

from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fencepost.errors import InvalidSettings, LeaseStoreUnavailable
from fencepost.leases.kubernetes import KubernetesLeases, open_leases
from fencepost.leases.kubernetes.credentials import Certificate, Identity
from fencepost.model.identifiers import Epoch, Shard
from fencepost.model.lease import Granted, Unknown
from fencepost.testing.clock import VirtualClock
from fencepost.testing.conformance.builders import ALICE
from tests.leases.kubernetes.double import Double
from tests.leases.kubernetes.on_double import (
    DoubleBackend,
    server_context,
    write_kubeconfig,
)
from tests.servers.certificates import Certificates

SHARD = Shard(0)
TTL_S = 1000.0


async def test_a_token_that_was_replaced_does_not_cost_the_lease(
    double: Double, clock: VirtualClock, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("secret")
    leases = await opened(double, clock, tmp_path, {"tokenFile": "token"})
    await leases.acquire([SHARD], ALICE, TTL_S)
    (tmp_path / "token").write_text("newer\n")
    double.authorizations = {"Bearer newer"}
    double.shown.clear()
    answers = await leases.renew({SHARD: Epoch(1)}, ALICE, TTL_S)
    await leases.close()
    assert isinstance(answers[SHARD], Granted)
    assert double.shown == ["Bearer secret", "Bearer newer"]


async def test_a_token_file_is_not_read_once_and_for_all(
    double: Double, clock: VirtualClock, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("secret")
    leases = await opened(double, clock, tmp_path, {"tokenFile": "token"})
    (tmp_path / "token").write_text("newer")
    double.authorizations = {"Bearer secret", "Bearer newer"}
    await leases.read()
    assert double.shown[-1] == "Bearer secret"
    clock.advance(60)
    for _ in range(100):
        await leases.read()
        if double.shown[-1] == "Bearer newer":
            break
    await leases.close()
    assert double.shown[-1] == "Bearer newer"
    assert double.refused == []


async def test_credentials_that_stay_wrong_are_not_tried_again_and_again(
    double: Double, clock: VirtualClock, tmp_path: Path
) -> None:
    leases = await opened(double, clock, tmp_path)
    await leases.acquire([SHARD], ALICE, TTL_S)
    double.authorizations.clear()
    double.requests.clear()
    answers = await leases.renew({SHARD: Epoch(1)}, ALICE, TTL_S)
    await leases.close()
    assert isinstance(answers[SHARD], Unknown)
    assert len(double.requests) == 2


async def test_a_token_that_was_replaced_in_the_kubeconfig_is_not_overlooked(
    double: Double, clock: VirtualClock, tmp_path: Path
) -> None:
    leases = await opened(double, clock, tmp_path)
    write_kubeconfig(tmp_path / "config", DoubleBackend(double).url, {"token": "newer"})
    double.authorizations = {"Bearer newer"}
    answers = await leases.acquire([SHARD], ALICE, TTL_S)
    await leases.close()
    assert isinstance(answers[SHARD], Granted)


@pytest.mark.parametrize("written_out", [True, False])
async def test_a_client_certificate_is_not_left_out(
    clock: VirtualClock, tmp_path: Path, written_out: bool
) -> None:
    certificates = Certificates(tmp_path)
    double = Double()
    double.authorizations = {""}
    await double.start(server_context(certificates, asks_clients=True))
    chain, key = certificates.certificate_file, certificates.key_file
    user: dict[str, str] = (
        {"client-certificate-data": base64(chain), "client-key-data": base64(key)}
        if written_out
        else {"client-certificate": chain.name, "client-key": key.name}
    )
    cluster = {"certificate-authority": certificates.authority_file.name}
    server = f"https://127.0.0.1:{double.port}"
    kubeconfig = write_kubeconfig(tmp_path / "config", server, user, cluster)
    leases = await open_leases(f"kubernetes://?kubeconfig={kubeconfig}", clock=clock)
    answers = await leases.acquire([SHARD], ALICE, TTL_S)
    await leases.close()
    nobody = write_kubeconfig(tmp_path / "nobody", server, {}, cluster)
    with pytest.raises((InvalidSettings, LeaseStoreUnavailable)):
        await open_leases(f"kubernetes://?kubeconfig={nobody}", clock=clock)
    await double.close()
    assert isinstance(answers[SHARD], Granted)


@pytest.mark.parametrize(
    ("user", "complaint"),
    [
        ({"tokenFile": "missing"}, "missing cannot be read"),
        ({"tokenFile": "empty"}, "empty holds no token"),
        ({"client-certificate-data": "aGk="}, "one is missing"),
        ({"client-certificate-data": "!", "client-key-data": "!"}, "client-certificate-data is not base64"),
        ({"auth-provider": {"name": "gcp"}}, "use an exec plugin"),
        ({"as": "somebody", "token": "secret"}, "impersonation is not supported"),
        ({"exec": {"apiVersion": "v0", "command": "x"}}, "exec apiVersion v0"),
        ({"exec": {"apiVersion": "client.authentication.k8s.io/v1"}}, "exec without a command"),
    ],
)
async def test_a_user_who_cannot_be_is_not_accepted(
    double: Double, clock: VirtualClock, tmp_path: Path, user: Mapping[str, Any], complaint: str
) -> None:
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(InvalidSettings) as refused:
        await opened(double, clock, tmp_path, user)
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)


async def test_a_certificate_that_is_none_is_not_accepted(clock: VirtualClock, tmp_path: Path) -> None:
    user = {"client-certificate-data": "aGk=", "client-key-data": "aGk="}
    kubeconfig = write_kubeconfig(tmp_path / "config", "https://127.0.0.1:1", user)
    with pytest.raises(InvalidSettings, match="check that they are PEM"):
        await open_leases(f"kubernetes://?kubeconfig={kubeconfig}", clock=clock)


@pytest.mark.parametrize(
    ("cluster", "complaint"),
    [
        ({"server": "127.0.0.1"}, "expected https://HOST:PORT"),
        ({"proxy-url": "http://127.0.0.1:1"}, "proxy-url is not supported"),
        ({"certificate-authority": "missing", "server": "https://127.0.0.1:1"}, "cannot be used"),
        ({"certificate-authority-data": "aGk=", "server": "https://127.0.0.1:1"}, "cannot be used"),
    ],
)
async def test_a_cluster_that_cannot_be_is_not_accepted(
    clock: VirtualClock, tmp_path: Path, cluster: Mapping[str, Any], complaint: str
) -> None:
    kubeconfig = write_kubeconfig(tmp_path / "config", "http://127.0.0.1:1", cluster=cluster)
    with pytest.raises(InvalidSettings) as refused:
        await open_leases(f"kubernetes://?kubeconfig={kubeconfig}", clock=clock)
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["token: [hush", "- hush", "users: hush\ncurrent-context: main", "\x00hush"])
async def test_a_kubeconfig_that_is_none_is_not_quoted(
    clock: VirtualClock, tmp_path: Path, text: str
) -> None:
    (tmp_path / "config").write_text(text)
    with pytest.raises(InvalidSettings) as refused:
        await open_leases(f"kubernetes://?kubeconfig={tmp_path / 'config'}", clock=clock)
    assert "hush" not in str(refused.value)


async def test_an_authority_that_was_replaced_is_not_overlooked(clock: VirtualClock, tmp_path: Path) -> None:
    old, new = Certificates(made(tmp_path / "old")), Certificates(made(tmp_path / "new"))
    double = Double()
    await double.start(server_context(old))
    authority = tmp_path / "ca.crt"
    authority.write_bytes(old.authority_file.read_bytes())
    server = f"https://127.0.0.1:{double.port}"
    kubeconfig = write_kubeconfig(tmp_path / "config", server, None, {"certificate-authority": "ca.crt"})
    leases = await open_leases(f"kubernetes://?kubeconfig={kubeconfig}", clock=clock)
    await double.close()
    await double.start(server_context(new))
    with pytest.raises(LeaseStoreUnavailable):
        await leases.read()
    authority.write_bytes(new.authority_file.read_bytes())
    assert await leases.read() == []
    await leases.close()
    await double.close()


async def test_a_server_is_not_taken_for_another(clock: VirtualClock, tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)
    double = Double()
    await double.start(server_context(certificates))
    for name in ("localhost", "elsewhere"):
        cluster = {"certificate-authority": certificates.authority_file.name, "tls-server-name": name}
        write_kubeconfig(tmp_path / name, f"https://127.0.0.1:{double.port}", cluster=cluster)
    await (await open_leases(f"kubernetes://?kubeconfig={tmp_path / 'localhost'}", clock=clock)).close()
    with pytest.raises(InvalidSettings, match="no TLS with the API server"):
        await open_leases(f"kubernetes://?kubeconfig={tmp_path / 'elsewhere'}", clock=clock)
    await double.close()


def test_secrets_are_not_shown() -> None:
    identity = Identity("Bearer hush", Certificate(b"hush", b"hush"))
    assert "hush" not in repr(identity)


async def opened(
    double: Double, clock: VirtualClock, folder: Path, user: Mapping[str, Any] | None = None
) -> KubernetesLeases:
    kubeconfig = write_kubeconfig(folder / "config", DoubleBackend(double).url, user)
    return await open_leases(f"kubernetes://fleet?kubeconfig={kubeconfig}", clock=clock)


def base64(path: Path) -> str:
    return b64encode(path.read_bytes()).decode()


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder
