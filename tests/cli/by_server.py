"""A store and a server of it: the same commands asked of both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from click.testing import Result

from tests.cli.calls import call, called
from tests.cli.processes import SIGINT, started
from tests.servers.ports import free_port

SHOP = """
from fencepost import Every, Fencepost

app = Fencepost()

@app.job(schedule=Every("1h", anchor="2026-01-01T00:30:00Z"), labels={"team": "ops"})
async def report(region: str = "eu") -> None: ...
"""


@dataclass(frozen=True)
class Place:
    """Where the store is, and the server with a token that opens it."""

    store: str
    server: str
    token: str

    def here(self, *arguments: str) -> Result:
        return call(*arguments, "--store", self.store)

    def there(self, *arguments: str) -> Result:
        return call(*arguments, "--server", self.server, FENCEPOST_TOKEN=self.token)


@contextmanager
def served(folder: Path) -> Iterator[Place]:
    """A shop with one schedule, whose process answers calls as well."""
    (folder / "shop.py").write_text(SHOP)
    store, port = f"sqlite:///{folder / 'store.db'}", free_port()
    called("migrate", "--store", store)
    token = called("token", "create", "anna", "--role", "operator", "--store", store).strip()
    arguments = ("run", "shop:app", "--bind", f"127.0.0.1:{port}", "--store", store)
    with started(*arguments, folder=folder) as process:
        process.wait_for("web serving")
        yield Place(store, f"http://127.0.0.1:{port}", token)
        process.signal(SIGINT)
        process.ended()


def told(result: Result) -> tuple[int, str, str]:
    return result.exit_code, result.stdout, result.stderr
