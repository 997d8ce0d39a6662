"""Lists of runs, asked as over HTTP."""

from __future__ import annotations

import pytest

from fencepost.operations.control import Control
from fencepost.operations.runs import ListRunsRequest, list_runs
from tests.operations.asking import asked
from tests.services.house import NS, House
from tests.services.verbs_work import ANNA


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 6])
async def test_runs_of_one_moment_are_each_on_one_page_and_none_is_left_out(limit: int) -> None:
    """Five that became due together: where a page ends among them, the next goes on by their keys."""
    house = House()
    due = [str(await house.enqueue(key)) for key in "dbeac"]
    control = Control(house.store, NS, ANNA)
    walked: list[list[str]] = []
    after: str | None = None
    for _ in range(len(due) + 1):
        page = await asked(control, list_runs, ListRunsRequest(limit=limit, after=after))
        walked.append([one.run_key for one in page.items])
        after = page.next
        if after is None:
            break
    assert [one for page_keys in walked for one in page_keys] == sorted(due, reverse=True)
    assert [len(one) for one in walked] == [min(limit, len(due) - at) for at in range(0, len(due), limit)]
