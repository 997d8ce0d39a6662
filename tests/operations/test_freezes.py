"""Freezes, asked for and ended."""

from __future__ import annotations

import pytest

from fencepost.model.freeze import ScopeKind
from fencepost.model.identifiers import Namespace
from fencepost.operations.control import Control
from fencepost.operations.freezes import ChangeFreezeRequest, ListFreezesRequest, freeze, list_freezes, thaw
from tests.operations.asking import asked, refused
from tests.services.house import House
from tests.services.verbs_work import ANNA, open_control

ALL, LABEL, QUEUE, SCHEDULE = ScopeKind.ALL, ScopeKind.LABEL, ScopeKind.QUEUE, ScopeKind.SCHEDULE


@pytest.mark.parametrize(
    ("kind", "value", "schedules"),
    [
        (ALL, "", 1),
        (LABEL, "team=billing", 1),
        (LABEL, "team=other", 0),
        (QUEUE, "default", 1),
        (SCHEDULE, "invoices", 1),
        (SCHEDULE, "later", 0),
    ],
)
async def test_a_freeze_says_what_it_covers_and_thaws_once(
    kind: ScopeKind, value: str, schedules: int
) -> None:
    control = await open_control(House(), labels={"team": "billing"})
    question = ChangeFreezeRequest(kind=kind, value=value)
    done = await asked(control, freeze, question)
    assert (done.kind, done.value, done.changed, done.schedules) == (kind, value, True, schedules)
    assert not (await asked(control, freeze, question)).changed
    (shown,) = (await asked(control, list_freezes, ListFreezesRequest())).items
    assert (shown.kind, shown.value, shown.author, shown.reason) == (kind, value, ANNA.name, ANNA.reason)
    assert (await asked(control, thaw, question)).changed
    assert not (await asked(control, thaw, question)).changed
    assert (await asked(control, list_freezes, ListFreezesRequest())).items == []


async def test_without_a_word_it_is_everything() -> None:
    control = await open_control(House())
    assert (await asked(control, freeze, ChangeFreezeRequest())).kind is ALL


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (ALL, "mail", "everything needs no value"),
        (LABEL, "team", "expected key=value"),
        (LABEL, "", "expected key=value"),
        (QUEUE, "a b", "queue 'a b'"),
        (SCHEDULE, "", "schedule ''"),
    ],
)
async def test_what_covers_nothing_is_refused(kind: ScopeKind, value: str, said: str) -> None:
    control = await open_control(House())
    for verb in (freeze, thaw):
        assert said in await refused(control, verb, ChangeFreezeRequest(kind=kind, value=value))
    assert (await asked(control, list_freezes, ListFreezesRequest())).items == []


async def test_another_namespaces_freezes_are_not_there() -> None:
    house = House()
    control = await open_control(house)
    await asked(control, freeze, ChangeFreezeRequest())
    other = Control(house.store, Namespace("billing"), ANNA)
    assert (await asked(other, list_freezes, ListFreezesRequest())).items == []
    assert not (await asked(other, thaw, ChangeFreezeRequest())).changed
    assert len((await asked(control, list_freezes, ListFreezesRequest())).items) == 1


async def test_freezes_are_given_in_pages() -> None:
    control = await open_control(House())
    for kind, value in ((SCHEDULE, "b"), (QUEUE, "z"), (SCHEDULE, "a"), (ALL, "")):
        await asked(control, freeze, ChangeFreezeRequest(kind=kind, value=value))
    first = await asked(control, list_freezes, ListFreezesRequest(limit=3))
    assert [(one.kind, one.value) for one in first.items] == [(ALL, ""), (QUEUE, "z"), (SCHEDULE, "a")]
    last = await asked(control, list_freezes, ListFreezesRequest(limit=3, after=first.next))
    assert ([one.value for one in last.items], last.next) == (["b"], None)
