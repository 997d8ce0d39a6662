"""The proxy is as bad as it was told to be, and no worse."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import closing

import pytest

from tests.servers.ports import free_port
from tests.servers.proxy import Proxy

WAIT_S = 10.0
SPEAK = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as line:
    line.sendall(b"hello\\n")
    sys.exit(line.recv(100) != b"HELLO\\n")
"""


class Loud:
    """A server that answers every line in capitals, and remembers what it was told."""

    def __init__(self) -> None:
        self.port = free_port()
        self.heard: list[bytes] = []
        self.writers: list[asyncio.StreamWriter] = []
        self.left = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        try:
            while line := await reader.readline():
                self.heard.append(line)
                writer.write(line.upper())
        except ConnectionResetError:
            self.heard.append(b"reset")
        finally:
            writer.close()
            self.left.set()


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    def say(self, line: bytes) -> None:
        self._writer.write(line)

    async def hear(self) -> bytes:
        async with asyncio.timeout(WAIT_S):
            return await self._reader.readline()

    async def ask(self, line: bytes) -> bytes:
        self.say(line)
        return await self.hear()

    def close(self) -> None:
        self._writer.close()


@pytest.fixture
def loud() -> Loud:
    return Loud()


@pytest.fixture
async def proxy(loud: Loud) -> AsyncIterator[Proxy]:
    server = await asyncio.start_server(loud.serve, "127.0.0.1", loud.port)
    proxy = Proxy("127.0.0.1", loud.port)
    await proxy.start()
    yield proxy
    await proxy.close()
    server.close()
    for writer in loud.writers:
        writer.close()


@pytest.fixture
async def client(proxy: Proxy) -> AsyncIterator[Client]:
    with closing(await connect(proxy)) as client:
        assert await client.ask(b"hello\n") == b"HELLO\n"
        yield client


async def connect(there: Loud | Proxy) -> Client:
    return Client(*await asyncio.open_connection("127.0.0.1", there.port))


async def test_no_request_passes_a_cut_and_none_is_lost_by_it(
    loud: Loud, proxy: Proxy, client: Client
) -> None:
    proxy.cut()
    client.say(b"late\n")
    await proxy.held(WAIT_S)
    assert loud.heard == [b"hello\n"]
    proxy.heal()
    assert await client.hear() == b"LATE\n"


async def test_no_answer_passes_a_cut_and_none_is_lost_by_it(
    loud: Loud, proxy: Proxy, client: Client
) -> None:
    proxy.cut()
    loud.writers[0].write(b"late\n")
    await proxy.held(WAIT_S)
    proxy.heal()
    assert await client.hear() == b"late\n"


async def test_a_request_that_is_not_answered_in_a_cut_one_way_is_carried_out(
    loud: Loud, proxy: Proxy, client: Client
) -> None:
    proxy.cut_answers()
    client.say(b"one\n")
    await proxy.held(WAIT_S)
    assert loud.heard == [b"hello\n", b"one\n"]
    proxy.heal()
    assert await client.hear() == b"ONE\n"


async def test_a_new_connection_is_not_refused_in_a_cut_but_meets_silence(loud: Loud, proxy: Proxy) -> None:
    proxy.cut()
    with closing(await connect(proxy)) as client:
        client.say(b"anyone?\n")
        await proxy.held(WAIT_S)
        assert loud.writers == []
        proxy.heal()
        assert await client.hear() == b"ANYONE?\n"


async def test_the_server_does_not_learn_in_a_cut_that_the_client_has_left(
    loud: Loud, proxy: Proxy, client: Client
) -> None:
    proxy.cut()
    client.close()
    await proxy.held(WAIT_S)
    with closing(await connect(loud)) as direct:
        assert await direct.ask(b"is it gone?\n") == b"IS IT GONE?\n"
        assert not loud.left.is_set()
    proxy.heal()
    async with asyncio.timeout(WAIT_S):
        await loud.left.wait()


async def test_a_heal_taken_back_at_once_lets_nothing_through(
    loud: Loud, proxy: Proxy, client: Client
) -> None:
    proxy.cut()
    client.say(b"late\n")
    await proxy.held(WAIT_S)
    proxy.heal()
    proxy.cut()
    await proxy.held(WAIT_S)
    assert loud.heard == [b"hello\n"]


async def test_nothing_is_held_before_the_piece_that_was_waited_for(
    loud: Loud, proxy: Proxy, client: Client
) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(proxy.hold_from(at_least_bytes=1000, at_most_s=WAIT_S, saying=b"x"))
        assert await client.ask(b"x, but small\n") == b"X, BUT SMALL\n"
        assert await client.ask(b"y" * 1000 + b"\n") == b"Y" * 1000 + b"\n"
        client.say(b"x" * 1000 + b"\n")
    assert loud.heard == [b"hello\n", b"x, but small\n", b"y" * 1000 + b"\n"]
    proxy.release()
    assert await client.hear() == b"X" * 1000 + b"\n"


async def test_a_reset_leaves_no_end_connected(loud: Loud, proxy: Proxy, client: Client) -> None:
    proxy.reset()
    with pytest.raises(ConnectionResetError):
        await client.hear()
    async with asyncio.timeout(WAIT_S):
        await loud.left.wait()
    assert loud.heard == [b"hello\n", b"reset"]


async def test_a_reset_does_not_mind_an_end_that_has_closed_already(loud: Loud, proxy: Proxy) -> None:
    with closing(await connect(proxy)) as client:
        assert await client.ask(b"hello\n") == b"HELLO\n"
        loud.writers[0].transport.abort()
        assert await client.hear() == b""
        proxy.reset()


async def test_nobody_connected_is_led_elsewhere_and_nobody_new_is_not(proxy: Proxy, client: Client) -> None:
    elsewhere = Loud()
    async with await asyncio.start_server(elsewhere.serve, "127.0.0.1", elsewhere.port):
        proxy.retarget("127.0.0.1", elsewhere.port)
        assert await client.ask(b"old\n") == b"OLD\n"
        with closing(await connect(proxy)) as another:
            assert await another.ask(b"new\n") == b"NEW\n"
        assert elsewhere.heard == [b"new\n"]


async def test_nobody_new_gets_in_while_connections_are_refused(proxy: Proxy, client: Client) -> None:
    proxy.refuse()
    with pytest.raises(ConnectionRefusedError):
        await connect(proxy)
    assert await client.ask(b"still here\n") == b"STILL HERE\n"
    proxy.heal()
    with closing(await connect(proxy)) as another:
        assert await another.ask(b"me too\n") == b"ME TOO\n"


async def test_a_lost_answer_is_not_a_lost_request(loud: Loud, proxy: Proxy, client: Client) -> None:
    proxy.lose_next_answer()
    assert await client.ask(b"do it\n") == b""
    await proxy.lost(WAIT_S)
    assert loud.heard == [b"hello\n", b"do it\n"]
    with closing(await connect(proxy)) as another:
        assert await another.ask(b"was it done?\n") == b"WAS IT DONE?\n"


async def test_no_answer_is_lost_but_that_to_the_request_in_question(proxy: Proxy, client: Client) -> None:
    proxy.lose_next_answer(to=b"commit")
    assert await client.ask(b"begin\n") == b"BEGIN\n"
    assert await client.ask(b"commit\n") == b""


async def test_no_answer_comes_through_until_the_network_heals(
    loud: Loud, proxy: Proxy, client: Client
) -> None:
    proxy.lose_answers()
    assert await client.ask(b"one\n") == b""
    with closing(await connect(proxy)) as another:
        assert await another.ask(b"two\n") == b""
    assert loud.heard == [b"hello\n", b"one\n", b"two\n"]
    proxy.heal()
    with closing(await connect(proxy)) as another:
        assert await another.ask(b"three\n") == b"THREE\n"


async def test_a_client_without_a_server_is_turned_away() -> None:
    proxy = Proxy("127.0.0.1", free_port())
    await proxy.start()
    with closing(await connect(proxy)) as client:
        assert await client.hear() == b""
    await proxy.close()


async def test_a_process_of_its_own_is_held_too(proxy: Proxy) -> None:
    proxy.cut()
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", SPEAK, str(proxy.port))
    await proxy.held(WAIT_S)
    assert process.returncode is None
    proxy.heal()
    async with asyncio.timeout(WAIT_S):
        assert await process.wait() == 0
