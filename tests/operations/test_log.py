"""The audit log, page by page."""

from __future__ import annotations

import pytest

from fencepost.model.audit import Action
from fencepost.model.identifiers import JobName
from fencepost.model.job import JobSpec
from fencepost.operations import jobs as job_operations
from fencepost.operations import pausing
from fencepost.operations import runs as run_operations
from fencepost.operations import schedules as schedule_operations
from fencepost.operations.control import Control
from fencepost.operations.log import ListLogRequest, list_log
from fencepost.operations.paging import encode_cursor
from tests.operations.asking import asked, refused
from tests.services.house import NS, House
from tests.services.verbs_work import ANNA, spec


async def told(control: Control, **wanted: object) -> list[str]:
    page = await asked(control, list_log, ListLogRequest(**wanted))  # type: ignore[arg-type]
    return [one.action for one in page.items]


async def busy(house: House) -> Control:
    """Somebody has added, edited, paused and resumed a schedule, a minute apart, and held a run."""
    await house.memory.jobs.register(NS, [JobSpec(JobName("report"), open_payload=True)])
    control = Control(house.store, NS, ANNA)
    await schedule_operations.add(control, "invoices", spec(payload={"api_key": "hunter2", "region": "eu"}))
    for act in (
        schedule_operations.edit(
            control, "invoices", spec(30, payload={"api_key": "hunter3"}), expected_version=1
        ),
        pausing.pause(control, "invoices"),
        pausing.resume(control, "invoices"),
        job_operations.enqueue_run(control, "report", {}, key="1"),
        run_operations.hold(control, "report#1"),
    ):
        house.clock.advance(60)
        await act
    return control


async def test_the_newest_come_first_and_a_page_goes_on_where_the_last_one_ended() -> None:
    control = await busy(House())
    whole = await asked(control, list_log, ListLogRequest())
    numbers = [one.number for one in whole.items]
    assert (numbers, whole.next) == (sorted(numbers, reverse=True), None)
    walked: list[int] = []
    after: str | None = None
    for _ in range(3):
        page = await asked(control, list_log, ListLogRequest(limit=2, after=after))
        walked += [one.number for one in page.items]
        after = page.next
    assert (walked, after) == (numbers, None)


async def test_entries_are_chosen() -> None:
    control = await busy(House())
    assert await told(control, action=Action.SCHEDULE_PAUSE) == ["schedule.pause"]
    assert await told(control, subject="report#1") == ["run.hold", "run.enqueue"]
    assert await told(control, by="eve") == []
    assert len(await told(control, by="anna")) == 6
    assert await told(control, since="30s") == ["run.hold"]
    assert await told(control, until="2026-03-01T12:00:30Z") == ["schedule.put"]


async def test_an_entry_says_who_why_and_what_changed_without_secrets() -> None:
    control = await busy(House())
    (held,) = (await asked(control, list_log, ListLogRequest(action=Action.RUN_HOLD))).items
    assert (held.author, held.source, held.reason) == ("anna", "cli on web-3", "the bank is closed")
    assert held.changes == ['held: "no" -> "operator"']
    edited = (await asked(control, list_log, ListLogRequest(action=Action.SCHEDULE_PUT))).items[0]
    assert any("api_key" in line for line in edited.changes)
    assert "hunter" not in repr(edited)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (ListLogRequest(since="yesterday"), "since: "),
        (ListLogRequest(after="nonsense!"), "cursor: "),
        (ListLogRequest(after=encode_cursor(-1)), "cursor: "),
    ],
)
async def test_what_cannot_be_read_is_refused(wanted: ListLogRequest, said: str) -> None:
    assert said in await refused(await busy(House()), list_log, wanted)
