"""The pages about NATS, Redis and RabbitMQ, followed on real servers: their configuration, rights and
commands as they stand, with only the address and the folder replaced."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.brokers.on_rabbitmq import grant
from tests.docs.broker_pages import Page, follow
from tests.servers.binaries import REDIS
from tests.servers.fixtures import started
from tests.servers.nats import NatsServer
from tests.servers.process import Address
from tests.servers.rabbitmq import RabbitServer
from tests.servers.redis import RedisServer


class ConfiguredRedis(RedisServer):
    """One with a configuration file and nothing else."""

    def __init__(self, configuration: str) -> None:
        self._configuration = configuration
        super().__init__()

    def command(self) -> Sequence[str | Path]:
        file = self.folder / "redis.conf"
        file.write_text(self._configuration)
        place = ["--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self.folder)]
        return [REDIS.path(), file, *place]


@pytest.mark.nats
def test_nothing_is_missing_on_the_page_of_nats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes 6 s: two processes that import their drivers, and a run through both."""
    page = Page("nats")
    settings = page.block("jetstream").replace("/var/lib/nats", str(tmp_path / "nats"))
    with started(lambda: NatsServer(settings, jetstream=False)) as server:
        said = follow(page.commands("@localhost", f"@127.0.0.1:{server.port}"), tmp_path, monkeypatch)
    assert "warning" not in said.lower()


@pytest.mark.redis
def test_nothing_is_missing_on_the_page_of_redis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes 6 s: two processes that import their drivers, and a run through both."""
    page = Page("redis")
    with started(lambda: ConfiguredRedis(page.block("appendonly"))) as server:
        server.call(*page.block("ACL SETUSER").split())
        said = follow(page.commands("@localhost", f"@127.0.0.1:{server.port}"), tmp_path, monkeypatch)
    assert "warning" not in said.lower()


@pytest.mark.proof
@pytest.mark.rabbitmq
@pytest.mark.timeout(300)
def test_nothing_is_missing_on_the_page_of_rabbitmq(
    rabbitmq_server: Address, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Takes 6 s, and 10 s more where it is the first on this server: its start, and calls of rabbitmqctl."""
    if not isinstance(rabbitmq_server, RabbitServer):
        pytest.skip("needs a RabbitMQ of its own: unset FENCEPOST_TEST_RABBITMQ")
    page = Page("rabbitmq")
    grant(rabbitmq_server)
    said = follow(page.commands("@localhost", f"@127.0.0.1:{rabbitmq_server.port}"), tmp_path, monkeypatch)
    assert "warning" not in said.lower()
