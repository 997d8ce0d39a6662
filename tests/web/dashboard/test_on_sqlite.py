"""The pages on a store with a file: what they read is there, and every form finds its way."""

from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from fencepost.config import Settings
from fencepost.model.identifiers import DEFAULT_NAMESPACE, JobName, ScheduleId
from fencepost.model.job import JobSpec
from fencepost.model.schedule import ScheduleState
from fencepost.ports.store import Store
from fencepost.wiring import open_store
from tests.services.house import House
from tests.web.dashboard.house import Dashboard, somebody
from tests.web.dashboard.reading import faults, form_fields

WORDS = "schedule_id=hourly/eu&job=report&when=0+*+*+*+*&tz=Europe/Berlin&labels=team%3Dops"
NEW = f"/new-schedule?{WORDS}"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await open_store(Settings(store=f"sqlite:///{tmp_path / 'store.db'}"))
    await opened.jobs.register(DEFAULT_NAMESPACE, [JobSpec(JobName("report"), open_payload=True)])
    yield opened
    await opened.close()


async def test_a_schedule_is_made_looked_at_paused_and_removed_with_forms_alone(store: Store) -> None:
    board = Dashboard(cast(House, SimpleNamespace(store=store, settings=Settings())), somebody())
    made = await board.do("schedules.add", **form_fields(await board.posted(NEW), "/do/schedules.add"))
    assert made.headers["location"] == "/schedules/hourly%2Feu", await board.after(made)
    for path in ("/", "/schedules?label=team", "/schedules/hourly%2Feu", "/schedules/hourly%2Feu/backfill"):
        assert faults(await board.page(path)) == []
    for verb, state in (
        ("pause", ScheduleState.PAUSED),
        ("resume", ScheduleState.ACTIVE),
        ("remove", ScheduleState.REMOVED),
    ):
        await board.do(f"schedules.{verb}", schedule_id="hourly/eu", confirmed="yes")
        found = await store.schedules.get(DEFAULT_NAMESPACE, ScheduleId("hourly/eu"))
        assert found is not None
        assert found.state is state
