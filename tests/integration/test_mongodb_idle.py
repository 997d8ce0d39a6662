"""What a process asks of MongoDB while it has nothing to do, counted in commands. A bound that has to be
raised is a process that has become dearer."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC
from typing import Any
from uuid import uuid4

import pytest

from fencepost.model.claiming import ClaimRequest
from fencepost.model.identifiers import DEFAULT_NAMESPACE as NS
from fencepost.model.identifiers import DEFAULT_QUEUE, JobName, NodeId, RunKey
from fencepost.model.node import Node, NodeReport
from fencepost.model.rescue import SweepTerms
from fencepost.model.run import NewRun
from fencepost.ports.signals import Topic
from fencepost.stores.mongodb import MongoStore, migrate, open_store
from tests.conformance.on_mongodb import empty
from tests.integration.mongodb_commands import Listener, listening
from tests.services.idle import costs, per_second, runner

COMMANDS_MAX = 1.7
"""A second; the stream asks besides every ten."""
JOB = JobName("report")
APPETITE = ClaimRequest(NodeId("worker"), (DEFAULT_QUEUE,), (JOB,), 600.0, NS)
NODE = Node(NodeId("alice"), "host", 1, plans=True, works=True)
ASKED: list[tuple[str, Callable[[MongoStore], Awaitable[Any]], dict[str, int]]] = [
    ("a look", lambda store: store.ledger.outlook(APPETITE), {"aggregate": 1}),
    ("a claim of one run", lambda store: store.ledger.claim_direct(APPETITE, 1), {"aggregate": 1}),
    (
        "a sign of life",
        lambda store: store.nodes.beat(NODE, NodeReport(), 30.0),
        {"aggregate": 1, "update": 1},
    ),
    (
        "a sweep",
        lambda store: store.ledger.expired(10, SweepTerms(600.0, 30.0)),
        {"aggregate": 2, "update": 1},
    ),
    (
        "an enqueue",
        lambda store: store.ledger.enqueue(NS, [NewRun(RunKey(uuid4().hex), JOB, {}, DEFAULT_QUEUE, 2)]),
        {"hello": 1, "insert": 1, "update": 1, "commitTransaction": 1},
    ),
    ("how far the ledger has come", lambda store: store.epochs.high_water(), {"find": 3}),
]
"""What is done all day, most of it while there is nothing to do, and the commands that it sends."""


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Listener:
    return listening(monkeypatch)


@pytest.fixture
async def store(mongo_store_url: str, listener: Listener) -> AsyncIterator[MongoStore]:
    await migrate(mongo_store_url, shards=8)
    empty(mongo_store_url)
    opened = await open_store(mongo_store_url)
    await opened.signals.listen(Topic.RUNS, lambda: None)
    yield opened
    await opened.close()


@pytest.mark.parametrize(("plans", "works"), [(True, True), (True, False), (False, True)])
async def test_an_idle_process_sends_few_commands(
    store: MongoStore, listener: Listener, plans: bool, works: bool
) -> None:
    cost = await costs(listener.commands, runner(store, plans=plans, works=works))
    assert 0 < per_second(cost) <= COMMANDS_MAX, cost


@pytest.mark.parametrize(("ask", "commands"), [case[1:] for case in ASKED], ids=[case[0] for case in ASKED])
async def test_what_is_asked_all_day_is_asked_in_few_commands(
    store: MongoStore,
    listener: Listener,
    ask: Callable[[MongoStore], Awaitable[Any]],
    commands: dict[str, int],
) -> None:
    """From the second time on: rows that it keeps are there then."""
    await ask(store)
    listener.commands.clear()
    await ask(store)
    assert Counter(listener.commands) == commands


async def test_a_fence_is_drawn_beside_the_look_only_where_the_last_look_found_a_run(
    store: MongoStore, listener: Listener
) -> None:
    asked = []
    for number in range(4):
        if number in {1, 2}:
            await store.ledger.enqueue(NS, [NewRun(RunKey(str(number)), JOB, {}, DEFAULT_QUEUE, 2)])
        listener.commands.clear()
        await store.ledger.claim_direct(APPETITE, 1)
        asked.append(listener.commands[:])
    assert asked[0] == ["aggregate"]
    assert asked[1] == ["aggregate", "findAndModify", "update"]
    assert asked[2] in (["findAndModify", "aggregate", "update"], asked[1])
    assert sorted(asked[3]) == ["aggregate", "findAndModify"]


async def test_the_time_of_a_look_is_the_servers(store: MongoStore, listener: Listener) -> None:
    listener.replies.clear()
    outlook = await store.ledger.outlook(APPETITE)
    told = [one["now"] for reply in listener.replies for one in reply["cursor"]["firstBatch"] if "now" in one]
    assert [one.replace(tzinfo=UTC) for one in told] == [outlook.now]
