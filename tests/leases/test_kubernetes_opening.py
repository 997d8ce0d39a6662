"""Opening leases on Kubernetes: what a URL may say, and what is refused before anything is leased."""

import asyncio
from pathlib import Path

import pytest

from fencepost.errors import InvalidSettings, LeaseStoreUnavailable
from fencepost.leases.kubernetes import KubernetesLeases, incluster, open_leases
from fencepost.leases.kubernetes.address import parse_place
from fencepost.model.identifiers import Shard
from fencepost.model.lease import Granted
from fencepost.testing.clock import VirtualClock
from fencepost.testing.conformance.builders import ALICE
from tests.leases.kubernetes.double import VERBS, Double, Refusal
from tests.leases.kubernetes.on_double import (
    DoubleBackend,
    server_context,
    write_kubeconfig,
)
from tests.servers.certificates import Certificates
from tests.servers.ports import free_port

SHARD = Shard(0)


@pytest.fixture(autouse=True)
def _outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither in a pod nor at home, whatever runs the tests."""
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("kubernetes://fleet?nmae=x", 'unknown parameter "nmae"; known: context, kubeconfig, name'),
        ("kubernetes://fleet:8080", "expected kubernetes://NAMESPACE"),
        ("kubernetes://me:hush@fleet", "expected kubernetes://NAMESPACE"),
        ("kubernetes://fleet/path", "expected kubernetes://NAMESPACE"),
        ("kubernetes://one,two", "expected kubernetes://NAMESPACE"),
        ("kubernetes://a_b", 'namespace "a_b"'),
        ("kubernetes://fleet?name=A", 'name "A"'),
        ("kubernetes://fleet?name=", 'name ""'),
        ("kubernetes://fleet?name=" + "a" * 64, "1 to 63"),
        ("kubernetes://fleet?kubeconfig=", "kubeconfig names no file"),
        ("kubernetes://fleet?kubeconfig=/nowhere", "/nowhere cannot be read"),
        ("kubernetes://fleet", "home/.kube/config cannot be read"),
    ],
)
async def test_a_url_that_cannot_be_is_not_accepted(url: str, complaint: str) -> None:
    with pytest.raises(InvalidSettings) as refused:
        await open_leases(url, clock=VirtualClock())
    assert complaint in str(refused.value)
    assert "hush" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_url_does_not_have_to_say_much() -> None:
    place = parse_place("kubernetes://")
    assert (place.namespace, place.name, place.kubeconfig, place.context) == (None, "fencepost", None, None)


async def test_a_context_that_is_not_there_is_not_accepted(double: Double, tmp_path: Path) -> None:
    with pytest.raises(InvalidSettings, match="no context other; there are: main"):
        await opened(double, tmp_path, "&context=other")


async def test_the_namespace_of_the_context_is_not_ignored(double: Double, tmp_path: Path) -> None:
    kubeconfig = write_kubeconfig(tmp_path / "config", DoubleBackend(double).url, namespace="default")
    leases = await open_leases(f"kubernetes://?kubeconfig={kubeconfig}", clock=VirtualClock())
    await leases.acquire([SHARD], ALICE, 10.0)
    await leases.close()
    assert [*double.objects] == [("default", "fencepost-shard-0")]


async def test_of_several_kubeconfigs_a_later_one_does_not_win(
    double: Double, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = DoubleBackend(double).url
    first = tmp_path / "first"
    first.write_text("users: [{name: me, user: {token: secret}}]")
    second = write_kubeconfig(tmp_path / "second", url, user={"token": "wrong"})
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'missing'}:{first}:{second}")
    leases = await open_leases("kubernetes://", clock=VirtualClock())
    await leases.close()


async def test_a_pod_does_not_look_for_a_kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificates = Certificates(tmp_path)
    double = Double()
    await double.start(server_context(certificates))
    monkeypatch.setattr(incluster, "SERVICE_ACCOUNT", tmp_path)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(double.port))
    (tmp_path / "token").write_text("secret\n")
    (tmp_path / "ca.crt").write_bytes(certificates.authority_file.read_bytes())
    (tmp_path / "namespace").write_text("default")
    leases = await open_leases("kubernetes://", clock=VirtualClock())
    answers = await leases.acquire([SHARD], ALICE, 10.0)
    await leases.close()
    await double.close()
    assert isinstance(answers[SHARD], Granted)
    assert [*double.objects] == [("default", "fencepost-shard-0")]


@pytest.mark.parametrize("missing", sorted(VERBS))
async def test_no_right_can_be_missing_unnoticed(double: Double, tmp_path: Path, missing: str) -> None:
    double.rights.discard(missing)
    with pytest.raises(InvalidSettings, match=r"leases-rbac\.yaml") as refused:
        await opened(double, tmp_path)
    assert missing in str(refused.value)
    assert "\n" not in str(refused.value)


async def test_a_wrong_token_is_not_shown(double: Double, tmp_path: Path) -> None:
    kubeconfig = write_kubeconfig(tmp_path / "config", DoubleBackend(double).url, user={"token": "hush"})
    with pytest.raises(InvalidSettings, match="correct the token") as refused:
        await open_leases(f"kubernetes://fleet?kubeconfig={kubeconfig}", clock=VirtualClock())
    assert "hush" not in str(refused.value)


async def test_a_namespace_that_is_not_there_is_not_accepted(double: Double, tmp_path: Path) -> None:
    double.namespaces.clear()
    with pytest.raises(InvalidSettings, match="kubectl create namespace fleet"):
        await opened(double, tmp_path)


async def test_looking_whether_a_lease_can_be_made_does_not_make_one(double: Double, tmp_path: Path) -> None:
    await (await opened(double, tmp_path)).close()
    assert double.objects == {}


async def test_a_server_that_refuses_to_rehearse_is_not_refused(double: Double, tmp_path: Path) -> None:
    double.refusals["POST"] = Refusal(400, "BadRequest", "admission webhook does not support dry run")
    await (await opened(double, tmp_path)).close()


async def test_a_server_that_is_away_is_not_a_mistake_in_the_settings(tmp_path: Path) -> None:
    kubeconfig = write_kubeconfig(tmp_path / "config", f"http://127.0.0.1:{free_port()}")
    with pytest.raises(LeaseStoreUnavailable, match="is the API server running"):
        await open_leases(f"kubernetes://?kubeconfig={kubeconfig}", clock=VirtualClock())


async def test_a_server_that_does_not_answer_does_not_hang_the_start(double: Double, tmp_path: Path) -> None:
    never = asyncio.Event()

    async def wait(_: str) -> None:
        await never.wait()

    double.before = wait
    with pytest.raises(LeaseStoreUnavailable, match="no answer"):
        await opened(double, tmp_path)


async def test_a_server_that_is_not_verified_is_not_kept_quiet(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)
    double = Double()
    await double.start(server_context(certificates))
    blind = {"insecure-skip-tls-verify": True}
    kubeconfig = write_kubeconfig(tmp_path / "config", f"https://127.0.0.1:{double.port}", cluster=blind)
    leases = await open_leases(f"kubernetes://?kubeconfig={kubeconfig}", clock=VirtualClock())
    await leases.close()
    await double.close()
    assert any("not verified" in caveat for caveat in leases.caveats)


async def opened(double: Double, folder: Path, more: str = "") -> KubernetesLeases:
    kubeconfig = write_kubeconfig(folder / "config", DoubleBackend(double).url)
    return await open_leases(f"kubernetes://fleet?kubeconfig={kubeconfig}{more}", clock=VirtualClock())
