"""A store that a small application has used: one run of each kind, and nobody alive."""

import asyncio
import os
from pathlib import Path

import pytest

from fencepost import Every, Fencepost, PermanentFailure, Retry


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("FENCEPOST_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def url(tmp_path: Path) -> str:
    """The address of a store that is not there yet."""
    return f"sqlite:///{tmp_path / 'store.db'}"


@pytest.fixture
def used(url: str) -> str:
    """The address of a store with three jobs, one schedule, and the runs `double#ok` and `burn#bad`."""
    asyncio.run(_use(url))
    return url


async def _use(url: str) -> None:
    app = Fencepost(url)
    over = {"double": asyncio.Event(), "burn": asyncio.Event()}

    @app.job()
    async def double(number: int) -> str:
        over["double"].set()
        return f"{number} doubled is {number * 2}"

    @app.job(retry=Retry(1))
    async def burn() -> None:
        over["burn"].set()
        raise PermanentFailure("no fuel")

    @app.job(schedule=Every("1h", anchor="2026-01-01T00:30:00Z"), labels={"team": "ops"})
    async def report(region: str = "eu") -> None:
        raise AssertionError(region)

    async with app, app.running():
        await app.enqueue(double, key="ok", number=21)
        await app.enqueue(burn, key="bad")
        async with asyncio.timeout(20):
            await asyncio.gather(*(one.wait() for one in over.values()))
