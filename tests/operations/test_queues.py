"""Queues, asked about and paused."""

from __future__ import annotations

import pytest
from msgspec import ValidationError

from fencepost.errors import UsageError
from fencepost.model.identifiers import Namespace
from fencepost.operations.control import Control
from fencepost.operations.paging import encode_cursor
from fencepost.operations.queues import (
    ChangeQueueRequest,
    ListQueuesRequest,
    list_queues,
    pause_queue,
    resume_queue,
)
from tests.operations.asking import asked, there_and_back
from tests.services.house import NS, House
from tests.services.verbs_work import ANNA


def opened(house: House, namespace: str = NS) -> Control:
    return Control(house.store, Namespace(namespace), ANNA, settings=house.settings)


async def test_a_queue_is_paused_and_resumed_once() -> None:
    control = opened(House())
    first = await asked(control, pause_queue, ChangeQueueRequest(queue="mail"))
    assert (first.queue, first.paused, first.changed) == ("mail", True, True)
    assert not (await asked(control, pause_queue, ChangeQueueRequest(queue="mail"))).changed
    (line,) = (await asked(control, list_queues, ListQueuesRequest())).items
    assert (line.paused, line.paused_by, line.reason) == (True, "anna", "the bank is closed")
    last = await asked(control, resume_queue, ChangeQueueRequest(queue="mail"))
    assert (last.paused, last.changed) == (False, True)
    assert not (await asked(control, resume_queue, ChangeQueueRequest(queue="mail"))).changed


async def test_another_namespaces_pause_is_not_seen() -> None:
    house = House()
    await asked(opened(house, "billing"), pause_queue, ChangeQueueRequest(queue="secret"))
    assert (await asked(opened(house), list_queues, ListQueuesRequest())).items == []


async def test_a_weight_is_shown_where_the_settings_have_one() -> None:
    house = House(queues="mail:3,default:1")
    control = opened(house)
    for name in ("mail", "other"):
        await asked(control, pause_queue, ChangeQueueRequest(queue=name))
    weights = {
        one.queue: one.weight for one in (await asked(control, list_queues, ListQueuesRequest())).items
    }
    assert weights == {"mail": 3, "other": None}


async def test_a_page_goes_on_where_the_last_one_ended() -> None:
    control = opened(House())
    names = ["a", "b", "b/c", "bb", "c"]
    for name in names:
        await asked(control, pause_queue, ChangeQueueRequest(queue=name))
    walked: list[str] = []
    after: str | None = None
    for _ in range(3):
        page = await asked(control, list_queues, ListQueuesRequest(limit=2, after=after))
        walked += [one.queue for one in page.items]
        after = page.next
    assert (walked, after) == (names, None)


@pytest.mark.parametrize("cursor", ["x", "", encode_cursor(1), encode_cursor("a", "b"), encode_cursor(None)])
async def test_a_made_up_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(UsageError, match="cursor: expected `next`"):
        await asked(opened(House()), list_queues, ListQueuesRequest(after=cursor))


@pytest.mark.parametrize("name", ["", "a b", "-x", "x" * 201, "x\n"])
async def test_what_cannot_be_a_name_is_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        there_and_back(pause_queue, ChangeQueueRequest(queue=name))
    with pytest.raises(UsageError, match="queue "):
        await pause_queue.carry_out(opened(House()), ChangeQueueRequest(queue=name))
