"""Message jobs and brokers on the dashboard and in the API: how a run travelled, who misses its broker, what
waits, and jobs that people give work and schedules to."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlencode

import pytest

from fencepost.model.identifiers import DEFAULT_QUEUE, NodeId, ScheduleId
from fencepost.model.job import Parameter
from fencepost.model.node import BrokerReport, Node, NodeReport
from fencepost.model.run import RunState
from fencepost.web.dashboard import links
from tests.brokers.post import THUMBS, Post
from tests.brokers.test_replies import shown
from tests.services.house import NS, House
from tests.web.dashboard.house import Dashboard, somebody, words_of
from tests.web.dashboard.reading import form_fields
from tests.web.house import Web

IMAGE = Parameter("image", True, "integer")


def house_of(post: Post, house: House) -> House:
    """A house whose runs are sent."""
    house.clock, house.memory, house.store = post.clock, post.memory, post.store
    return house


def board_of(post: Post) -> Dashboard:
    return Dashboard(house_of(post, House()), somebody())


async def beat(post: Post, name: str, report: BrokerReport) -> None:
    node = Node(NodeId(name), f"{name}.example.org", 7, False, True, (DEFAULT_QUEUE,), 4)
    await post.memory.nodes.beat(node, NodeReport(broker=report), 1_000.0)


async def test_no_station_of_a_run_is_left_out_of_its_page() -> None:
    post = Post()
    key, message = await post.one_sent()
    board = board_of(post)
    assert "published to thumbs, memory has it" in words_of(await board.page(links.run(key)))
    for said in ({"outcome": "started"}, {"outcome": "succeeded", "result": 7}):
        await post.reply(**shown(message), **said, processor="vm-1")
    words = words_of(await board.page(links.run(key)))
    assert "published to thumbs, memory has it started by vm-1 succeeded, says vm-1" in words


async def test_a_run_whose_confirm_is_its_end_says_where_it_went() -> None:
    post = Post(reply="none")
    key, _ = await post.one_sent()
    assert "published to thumbs" in words_of(await board_of(post).page(links.run(key)))


async def test_a_node_without_its_broker_is_not_shown_as_well() -> None:
    post = Post()
    await beat(post, "first", BrokerReport("nats", 42.0))
    await beat(post, "second", BrokerReport("nats", 0.0, 7))
    words = words_of(await board_of(post).page("/workers"))
    assert "first nats away for 42 s" in words
    assert "second nats, 7 waiting" in words


async def test_a_message_job_is_given_work_and_a_schedule_by_people() -> None:
    post = Post(parameters=(IMAGE,))
    post.spec = replace(post.spec, open_payload=False)
    await post.memory.jobs.register(NS, [post.spec])
    board = board_of(post)
    assert "thumbs message" in words_of(await board.page("/jobs"))
    assert "sent to thumbs" in words_of(await board.page(links.job(THUMBS)))
    await board.after(await board.do("jobs.enqueue", job=THUMBS, key="1", **{"payload.image.integer": "7"}))
    await post.deliver()
    assert [(one.destination, one.body) for one in post.broker.published] == [("thumbs", b'{"image":7}')]
    fields = {"schedule_id": "hourly", "job": THUMBS, "when": "every 1h", "overlap": "skip", "mode": "none"}
    query = urlencode({**fields, "payload": '{"image": 8}'})
    form = form_fields(await board.posted(f"/new-schedule?{query}"), "/do/schedules.add")
    await board.after(await board.do("schedules.add", **form))
    made = await post.memory.schedules.get(NS, ScheduleId("hourly"))
    assert made is not None
    assert (made.spec.job, made.spec.payload) == (THUMBS, {"image": 8})


@pytest.fixture
async def web() -> Web:
    made = Web()
    await made.open()
    return made


async def test_the_api_does_not_hide_how_a_job_is_sent(web: Web) -> None:
    post = Post(parameters=(IMAGE,))
    await web.house.memory.jobs.register(NS, [post.spec])
    found = (await web.get("/api/v1/jobs/thumbs")).body
    assert found["message"] == {
        "destination": "thumbs",
        "reply": "result",
        "start_within_s": 600.0,
        "ahead_max": 1000,
        "body": None,
    }
    answer = await web.post("/api/v1/jobs/thumbs/enqueue", {"key": "1", "payload": {"image": 7}})
    assert answer.body == {"run_key": "thumbs#1", "new": True}
    run = await web.house.run("thumbs#1")
    assert (run.state, run.job, run.payload) == (RunState.READY, THUMBS, {"image": 7})


async def test_the_api_does_not_hide_that_a_node_misses_its_broker(web: Web) -> None:
    node = Node(NodeId("first"), "vm-1", 7, False, True, (DEFAULT_QUEUE,), 4)
    await web.house.memory.nodes.beat(node, NodeReport(broker=BrokerReport("nats", 42.0, 7)), 1_000.0)
    (found,) = (await web.get("/api/v1/nodes")).body["items"]
    assert found["broker"] == {"name": "nats", "away_s": 42.0, "waiting": 7}
