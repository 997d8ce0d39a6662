"""Whatever a form says, it is read or refused: no name of a field, however it is put together, is a fault of
ours."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as some
from msgspec import Struct

from fencepost.errors import UsageError
from fencepost.operations.schedules import EditScheduleRequest
from fencepost.web.dashboard.actions.forms import to_request
from fencepost.web.dashboard.actions.operations import changes
from tests.properties import examples
from tests.web.dashboard.house import Dashboard, words_of

ASKED = sorted({one.request for one in changes().values()}, key=lambda one: one.__name__)
NESTED = ("payload", "catch_up", "labels")
PARTED = [one for one in ASKED if set(NESTED) & set(one.__struct_encode_fields__)]
PARTS = ("", "x", "mode", "string", "integer", "boolean", "object", "any", "max_lateness", "0", "é")
TEXTS = (
    "1",
    "none",
    "all",
    "{}",
    "[]",
    "null",
    '{"x": 1}',
    "true",
    "1e999",
    "9" * 5_000,
    "[" * 5_000,
    "é\0",
    "-",
)
ANY = some.sampled_from(PARTS)
TEXT = some.sampled_from(TEXTS) | some.text(max_size=8)
TWICE = [
    {"payload": "1", "payload.x": "1"},
    {"payload.x": "1", "payload": "1"},
    {"payload": '{"y": 1}', "payload.x": "1"},
    {"payload.x": "1", "payload.x.integer": "2"},
    {"catch_up": "none", "catch_up.mode": "all"},
    {"catch_up.mode": "all", "catch_up": "none"},
    {"clear": "payload", "payload.x": "1"},
    {"clear": "payload", "payload": "{}"},
    {"clear": "catch_up", "catch_up.mode": "all"},
    {"clear": "paylod"},
    {"clear": "payload.x"},
]


@some.composite
def forms(draw: some.DrawFn) -> tuple[type[Struct], dict[str, list[str]], list[str]]:
    """An operation's words with few fields of it, each whole, in parts and cleared, or with ones that it does
    not have."""
    kind = draw(some.sampled_from(PARTED) | some.sampled_from(ASKED))
    known = kind.__struct_encode_fields__
    head = some.sampled_from(
        [*(name for name in NESTED if name in known), draw(some.sampled_from(known)), "no"]
    )
    names = some.tuples(head) | some.tuples(head, ANY) | some.tuples(head, ANY, ANY)
    fields = draw(
        some.dictionaries(names.map(".".join), some.lists(TEXT, min_size=1, max_size=2), max_size=5)
    )
    return kind, fields, draw(some.lists(head, max_size=1))


@examples(200)
@given(forms())
def test_a_form_is_read_or_refused(form: tuple[type[Struct], dict[str, list[str]], list[str]]) -> None:
    kind, fields, cleared = form
    with suppress(UsageError):
        assert isinstance(to_request(fields, kind, cleared), kind)


@pytest.mark.parametrize("fields", TWICE, ids=urlencode)
async def test_a_field_that_comes_in_two_ways_is_refused(board: Dashboard, fields: dict[str, Any]) -> None:
    answer = await board.do("schedules.edit", schedule_id="minutely", **fields)
    assert "Not done." in words_of(await board.after(answer))


def test_parts_beside_each_other_are_no_two_ways() -> None:
    fields = {"schedule_id": ["a"], "catch_up.mode": ["all"], "catch_up.max_lateness": ["1h"]}
    asked = to_request(
        {**fields, "payload.x": ["1"], "payload.xy.integer": ["2"], "queue": [" "]},
        EditScheduleRequest,
        ["queue"],
    )
    assert (asked.payload, asked.queue) == ({"x": "1", "xy": 2}, None)
