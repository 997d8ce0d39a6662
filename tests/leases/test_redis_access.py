"""The first connection to Redis: what is not allowed or not there is said in one line, with the mend."""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing
from pathlib import Path

import pytest

from fencepost.clock import SystemClock
from fencepost.errors import FencepostError, InvalidSettings, LeaseStoreUnavailable
from fencepost.leases.redis import RedisLeases, open_leases
from fencepost.model.identifiers import NodeId, Shard
from fencepost.model.lease import Granted, Released
from tests.leases.redis.harness import named, proxy_to, through
from tests.leases.redis.tls import tls_before
from tests.servers.certificates import Certificates
from tests.servers.fixtures import started
from tests.servers.ports import free_port
from tests.servers.process import wait_until
from tests.servers.redis import SERVICE, RedisServer, Sentinel

PASSWORD = "s3cret"
ALICE = NodeId("alice")
SHARD = Shard(0)
COMMANDS = [
    *("eval", "evalsha", "info", "hmget", "hset", "hincrby", "hkeys", "pexpire", "pttl", "del", "publish"),
    *("subscribe", "ping"),
]
"""What the guide tells people to grant."""


@pytest.fixture(scope="module")
def guarded() -> Iterator[RedisServer]:
    with started(lambda: RedisServer(password=PASSWORD)) as server:
        yield server


def as_user(server: RedisServer, name: str, *rules: str) -> str:
    """The URL for a user who may do only what the rules say."""
    server.call("ACL SETUSER", name, "reset", "resetchannels", "on", f">{PASSWORD}", *rules)
    return f"redis://{name}:{PASSWORD}@127.0.0.1:{server.port}"


async def opened(url: str, stack: AsyncExitStack) -> RedisLeases:
    leases = await open_leases(url, clock=SystemClock())
    stack.push_async_callback(leases.close)
    return leases


async def refused(url: str, kind: type[FencepostError]) -> str:
    """What is said when the leases cannot be opened."""
    with pytest.raises(kind) as caught:
        await open_leases(url, clock=SystemClock())
    text = str(caught.value)
    assert PASSWORD not in text
    assert "\n" not in text
    return text


@pytest.mark.parametrize("who", ["", ":wrong@", "nobody:wrong@"])
async def test_who_does_not_know_the_password_is_not_let_in(guarded: RedisServer, who: str) -> None:
    text = await refused(f"redis://{who}127.0.0.1:{guarded.port}", InvalidSettings)
    assert text.endswith("; correct the user or the password in the URL")
    assert "wrong" not in text


@pytest.mark.parametrize("missing", [one for one in COMMANDS if one not in ("subscribe", "ping")])
async def test_a_user_who_may_not_do_everything_is_not_let_in(guarded: RedisServer, missing: str) -> None:
    """Nor where others have made the scripts known to the server, which may forget them."""
    await (await open_leases(f"redis://:{PASSWORD}@127.0.0.1:{guarded.port}", clock=SystemClock())).close()
    rules = [f"+{one}" for one in COMMANDS if one != missing]
    url = as_user(guarded, "partial", *rules, "~{fencepost}:*", "&{fencepost}:*")
    assert "grant the user what the guide" in await refused(url, InvalidSettings)


@pytest.mark.parametrize("rule", ["~{fencepost}:*", "&{fencepost}:*"])
async def test_a_user_without_the_keys_or_the_channel_is_not_let_in(guarded: RedisServer, rule: str) -> None:
    rules = [f"+{one}" for one in COMMANDS]
    url = as_user(guarded, "apart", *rules, rule)
    assert "grant the user what the guide" in await refused(url, InvalidSettings)


async def test_a_user_needs_no_more_than_the_guide_says(guarded: RedisServer, stack: AsyncExitStack) -> None:
    rules = [f"+{one}" for one in COMMANDS]
    url = as_user(guarded, "modest", *rules, "~{blue}:*", "&{blue}:*")
    leases = await opened(f"{url}?name=blue", stack)
    hinted = asyncio.Event()
    await leases.watch(hinted.set)
    answer = (await leases.acquire([SHARD], ALICE, 30))[SHARD]
    assert isinstance(answer, Granted)
    assert (await leases.renew({SHARD: answer.epoch}, ALICE, 30))[SHARD] == answer
    assert [one.holder for one in await leases.read()] == [ALICE]
    assert (await leases.release({SHARD: answer.epoch}, ALICE))[SHARD] == Released()
    await asyncio.wait_for(hinted.wait(), 10)


async def test_a_server_that_is_not_there_is_no_traceback() -> None:
    text = await refused(f"redis://:{PASSWORD}@127.0.0.1:{free_port()}", LeaseStoreUnavailable)
    assert text.endswith("; is the server running, and is this its address?")


async def test_a_server_that_says_nothing_does_not_hang_the_start(
    guarded: RedisServer, stack: AsyncExitStack
) -> None:
    proxy = await proxy_to(guarded.url, stack)
    proxy.cut()
    async with asyncio.timeout(5):
        assert "no answer in time" in await refused(through(proxy, guarded.url), LeaseStoreUnavailable)


async def test_a_database_that_is_not_there_is_not_taken_for_another(guarded: RedisServer) -> None:
    text = await refused(f"redis://:{PASSWORD}@127.0.0.1:{guarded.port}/999", InvalidSettings)
    assert "DB index is out of range; choose another database" in text


async def test_a_name_that_others_use_for_something_else_is_refused(guarded: RedisServer) -> None:
    guarded.call("SET", "{taken}:epochs", "theirs")
    text = await refused(f"redis://:{PASSWORD}@127.0.0.1:{guarded.port}?name=taken", InvalidSettings)
    assert "another name in the URL" in text


async def test_databases_and_names_keep_fleets_apart(guarded: RedisServer, stack: AsyncExitStack) -> None:
    base = f"redis://:{PASSWORD}@127.0.0.1:{guarded.port}"
    for url in (f"{base}/1?name=a", f"{base}/2?name=a", f"{base}/1?name=b"):
        leases = await opened(url, stack)
        assert isinstance((await leases.acquire([SHARD], NodeId(url), 30))[SHARD], Granted)


async def test_a_server_that_evicts_is_not_passed_over_in_silence(
    guarded: RedisServer, stack: AsyncExitStack
) -> None:
    assert not any("noeviction" in one for one in (await opened(named(guarded.url), stack)).caveats)
    guarded.call("CONFIG SET", "maxmemory", "100mb")
    guarded.call("CONFIG SET", "maxmemory-policy", "volatile-lru")
    try:
        caveats = (await opened(named(guarded.url), stack)).caveats
    finally:
        guarded.call("CONFIG SET", "maxmemory", "0")
        guarded.call("CONFIG SET", "maxmemory-policy", "noeviction")
    assert any("volatile-lru" in one and "noeviction" in one for one in caveats)


async def test_tls_does_not_trust_an_unknown_authority(
    guarded: RedisServer, tmp_path: Path, stack: AsyncExitStack
) -> None:
    certificates = Certificates(tmp_path)
    port = await stack.enter_async_context(tls_before(guarded.port, certificates, asks_for_certificate=False))
    base = f"rediss://:{PASSWORD}@127.0.0.1:{port}"
    assert "by ca=FILE" in await refused(base, InvalidSettings)
    await opened(f"{base}?ca={certificates.authority_file}", stack)


async def test_tls_shows_its_own_certificate_where_one_is_asked_for(
    guarded: RedisServer, tmp_path: Path, stack: AsyncExitStack
) -> None:
    files = Certificates(tmp_path)
    port = await stack.enter_async_context(tls_before(guarded.port, files, asks_for_certificate=True))
    base = f"rediss://:{PASSWORD}@127.0.0.1:{port}?ca={files.authority_file}"
    await refused(base, LeaseStoreUnavailable)
    await opened(f"{base}&cert={files.certificate_file}&key={files.key_file}", stack)


async def test_sentinels_are_not_asked_with_the_servers_password(
    guarded: RedisServer, stack: AsyncExitStack
) -> None:
    sentinel = guarded_sentinel(guarded)
    with closing(sentinel):
        base = f"redis+sentinel://:{PASSWORD}@127.0.0.1:{sentinel.port}"
        text = await refused(f"{base}/{SERVICE}", InvalidSettings)
        assert f"sentinel 127.0.0.1:{sentinel.port}" in text
        leases = await opened(f"{base}/{SERVICE}?sentinel_password=watch", stack)
        assert isinstance((await leases.acquire([SHARD], ALICE, 30))[SHARD], Granted)
        text = await refused(f"{base}/else?sentinel_password=watch", InvalidSettings)
        assert 'no sentinel knows the service "else"; correct the service' in text


def guarded_sentinel(master: RedisServer) -> Sentinel:
    """One that wants a password of its own."""
    sentinel = Sentinel(master)
    with (sentinel.folder / "sentinel.conf").open("a") as file:
        file.write(f"sentinel auth-pass {SERVICE} {PASSWORD}\nrequirepass watch\n")
    sentinel.url = f"redis://:watch@127.0.0.1:{sentinel.port}/0"
    sentinel.start()
    wait_until(lambda: sentinel.master_port() == master.port, lambda: sentinel.log)
    return sentinel
