"""What a node reports about itself and about its state, as the store keeps it."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from functools import lru_cache

from fencepost.model.identifiers import JobName, Queue
from fencepost.model.json import canonical
from fencepost.model.node import BrokerReport, Led, Node, NodeReport

NODES_MAX = 1_024
REPORTED = tuple(one.name for one in fields(NodeReport))
LED = tuple(one.name for one in fields(Led))
BROKER = tuple(one.name for one in fields(BrokerReport))


@lru_cache(NODES_MAX)
def node_to_text(node: Node) -> str:
    """What a node reports about itself, as JSON for the column `about`."""
    return canonical({**asdict(node), "queues": list(node.queues)})


def report_to_text(report: NodeReport) -> str:
    """The state that a node reports, as JSON for the column `report`."""
    said = {name: getattr(report, name) for name in REPORTED}
    said["leads"] = [[getattr(one, name) for name in LED] for one in report.leads]
    said["broker"] = None if report.broker is None else [getattr(report.broker, name) for name in BROKER]
    said["jobs"] = None if report.jobs is None else list(report.jobs)
    return canonical(said)


@lru_cache(NODES_MAX)
def node_from_text(about: str) -> Node:
    """Back from the column `about`."""
    said = json.loads(about)
    queues = tuple(Queue(queue) for queue in said.pop("queues"))
    return Node(**said, queues=queues)


@lru_cache(NODES_MAX)
def report_from_text(text: str) -> NodeReport:
    """Back from the column `report`; fields of a newer release are ignored."""
    said = json.loads(text)
    leads = tuple(Led(*one[: len(LED)]) for one in said.pop("leads", ()))
    broker = said.pop("broker", None)
    told = None if broker is None else BrokerReport(*broker[: len(BROKER)])
    jobs = said.pop("jobs", None)
    return NodeReport(
        leads=leads,
        broker=told,
        jobs=None if jobs is None else tuple(JobName(one) for one in jobs),
        **{name: value for name, value in said.items() if name in REPORTED},
    )
