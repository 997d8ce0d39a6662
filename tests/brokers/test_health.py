"""What a node says of its message broker to the other nodes."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost.errors import BrokerUnavailable
from fencepost.model.node import BrokerReport, NodeReport
from fencepost.model.node_codec import report_from_text, report_to_text
from fencepost.services.broker_link import BrokerService
from fencepost.telemetry.events import listen
from fencepost.telemetry.message_events import Answer, BrokerMissed, MessagesPublished
from tests.brokers.post import Post


async def test_a_broker_that_is_away_is_not_called_there() -> None:
    post = Post(route={"ahead_max": 9})
    link = post.deliverer.link
    assert link.report() is None
    await post.one_sent()
    await post.deliverer.run_once()
    assert link.report() == BrokerReport("memory", 0.0, 1)
    post.broker.down = True
    await post.enqueue("2")
    with pytest.raises(BrokerUnavailable):
        await post.deliverer.run_once()
    link.forget()
    assert link.report() is not None
    post.broker.down = False
    await post.deliverer.run_once()
    assert link.report() == BrokerReport("memory", 0.0, 2)


def test_a_report_of_a_broker_is_not_changed_in_the_store() -> None:
    report = NodeReport(broker=BrokerReport("nats", 3.5, 7))
    assert report_from_text(report_to_text(report)) == report
    assert report_from_text(report_to_text(NodeReport())) == NodeReport()


async def test_what_all_loops_of_a_process_miss_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    post = Post()
    services = (post.deliverer, post.new_deliverer("node-2"))
    for one in services:
        one.link = post.deliverer.link
    post.broker.down = True
    await passes(*services)
    assert caplog.text.count("what it was to carry waits") == 1
    post.broker.down = False
    await passes(*services)
    post.broker.down = True
    post.deliverer.link.forget()
    await passes(*services)
    assert caplog.text.count("what it was to carry waits") == 2


async def test_metrics_hear_of_what_was_sent_and_of_a_broker_that_is_missed() -> None:
    post, heard = Post(reply="none"), list[Any]()
    unlisten = listen(heard.append)
    try:
        await post.one_sent()
        post.broker.down = True
        await post.enqueue("2")
        post.deliverer.link.forget()
        await passes(post.deliverer)
    finally:
        unlisten()
    assert MessagesPublished("memory", {Answer.CONFIRMED: 1}) in heard
    assert BrokerMissed(post.deliverer.name, 1) in heard


async def passes(*services: BrokerService) -> None:
    for one in services:
        await one._pass()
