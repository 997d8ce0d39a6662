"""Passwords and certificates."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import pytest

from fencepost.clock import SystemClock
from fencepost.errors import InvalidSettings, LeaseStoreUnavailable
from fencepost.leases.etcd import EtcdLeases, open_leases
from fencepost.model.lease import Granted, Released
from tests.leases.etcd.asking import ALICE, expires_in_s, grant, heard, release, renew
from tests.leases.etcd.harness import fresh_name
from tests.servers.etcd import USER, EtcdServer, encode
from tests.servers.fixtures import started

PASSWORD = "open sesame/@:"
QUOTED = "open%20sesame%2F%40%3A"


class MutualServer(EtcdServer):
    """Speaks TLS, and only to those who show a certificate."""

    def __init__(self) -> None:
        super().__init__(tls=True)

    def command(self) -> Sequence[str | Path]:
        assert self.certificates is not None
        return [
            *super().command(),
            "--client-cert-auth=true",
            f"--trusted-ca-file={self.certificates.authority_file}",
        ]

    def context(self) -> ssl.SSLContext:
        assert self.certificates is not None
        context = self.certificates.context()
        context.load_cert_chain(self.certificates.certificate_file, self.certificates.key_file)
        return context


@pytest.fixture(scope="module")
def guarded() -> Iterator[EtcdServer]:
    with started(lambda: EtcdServer(password=PASSWORD)) as server:
        yield server


@pytest.fixture(scope="module")
def sealed() -> Iterator[EtcdServer]:
    with started(MutualServer) as server:
        yield server


@pytest.fixture
async def leases(guarded: EtcdServer) -> AsyncIterator[EtcdLeases]:
    opened = await open_leases(url(guarded, f"{USER}:{QUOTED}@"), clock=SystemClock())
    yield opened
    await opened.close()


async def test_a_password_is_not_told_in_vain(leases: EtcdLeases) -> None:
    assert (await grant(leases, ALICE)).epoch > 0
    assert "unencrypted" in leases.caveats[-1]


async def test_a_server_that_forgot_the_token_does_not_refuse_for_good(
    guarded: EtcdServer, leases: EtcdLeases
) -> None:
    epoch = (await grant(leases, ALICE)).epoch
    await asyncio.to_thread(guarded.restart)
    assert isinstance(await renew(leases, ALICE, epoch), Granted)
    async with heard(leases):
        await release(leases, ALICE, epoch)


async def test_a_watcher_is_not_deaf_once_its_token_is_refused(
    guarded: EtcdServer, leases: EtcdLeases
) -> None:
    await grant(leases, ALICE)
    async with heard(leases):
        await asyncio.to_thread(guarded.restart)


@pytest.mark.parametrize("who", ["", f"{USER}:wrong@", "nobody:wrong@"])
async def test_who_has_no_key_is_not_let_in(guarded: EtcdServer, who: str) -> None:
    with pytest.raises(InvalidSettings, match="correct the user and the password") as refused:
        await open_leases(url(guarded, who), clock=SystemClock())
    assert "wrong" not in str(refused.value)


async def test_a_user_without_a_role_is_told_what_to_grant(guarded: EtcdServer) -> None:
    token = guarded.call("auth/authenticate", {"name": USER, "password": PASSWORD})["token"]
    guarded.call("auth/user/add", {"name": "guest", "password": "guest"}, token)
    with pytest.raises(InvalidSettings, match=r"permission denied.*grant the user readwrite on test-"):
        await open_leases(url(guarded, "guest:guest@"), clock=SystemClock())


async def test_a_user_who_may_change_the_leases_needs_to_be_granted_nothing_else(guarded: EtcdServer) -> None:
    name = fresh_name()
    token = guarded.call("auth/authenticate", {"name": USER, "password": PASSWORD})["token"]
    keys = {"key": encode(f"{name}/leases/"), "range_end": encode(f"{name}/leases0")}
    guarded.call("auth/user/add", {"name": "scheduler", "password": "x"}, token)
    guarded.call("auth/role/add", {"name": "planner"}, token)
    guarded.call("auth/role/grant", {"name": "planner", "perm": {"permType": "READWRITE", **keys}}, token)
    guarded.call("auth/user/grant", {"user": "scheduler", "role": "planner"}, token)
    leases = await open_leases(
        f"etcd://scheduler:x@127.0.0.1:{guarded.port}?name={name}", clock=SystemClock()
    )
    granted = await grant(leases, ALICE)
    assert await renew(leases, ALICE, granted.epoch, 60) == granted
    assert await expires_in_s(leases) > 50
    async with heard(leases):
        assert await release(leases, ALICE, granted.epoch) == Released()
    await leases.close()


async def test_a_certificate_is_not_shown_in_vain(sealed: EtcdServer) -> None:
    files = sealed.certificates
    assert files is not None
    shown = f"&ca={files.authority_file}&cert={files.certificate_file}&key={files.key_file}"
    leases = await open_leases(url(sealed) + shown, clock=SystemClock())
    granted = await grant(leases, ALICE)
    assert await renew(leases, ALICE, granted.epoch) == granted
    await leases.close()


async def test_an_unknown_authority_is_not_trusted(sealed: EtcdServer) -> None:
    with pytest.raises(InvalidSettings, match="ca=/path"):
        await open_leases(url(sealed) + "&tls=true", clock=SystemClock())


async def test_who_shows_no_certificate_is_not_let_in(sealed: EtcdServer) -> None:
    assert sealed.certificates is not None
    with pytest.raises(LeaseStoreUnavailable, match="agree about TLS"):
        await open_leases(url(sealed) + f"&ca={sealed.certificates.authority_file}", clock=SystemClock())


async def test_plain_speech_to_a_server_of_tls_is_not_understood(sealed: EtcdServer) -> None:
    with pytest.raises((InvalidSettings, LeaseStoreUnavailable), match=r"(?i)tls"):
        await open_leases(url(sealed), clock=SystemClock())


async def test_tls_to_a_server_of_plain_speech_is_not_understood(guarded: EtcdServer) -> None:
    with pytest.raises(LeaseStoreUnavailable, match="agree about TLS"):
        await open_leases(url(guarded) + "&tls=true", clock=SystemClock())


def url(server: EtcdServer, who: str = "") -> str:
    return f"etcd://{who}127.0.0.1:{server.port}?name={fresh_name()}"
