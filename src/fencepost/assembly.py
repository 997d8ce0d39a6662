"""What runs, assembled from settings, a store and jobs: a node, what it does over a broker, a processor."""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from uuid import uuid4

from fencepost.clock import Clock, SystemClock
from fencepost.config import Settings
from fencepost.core.messages import reply_destination
from fencepost.errors import BrokerUnavailable
from fencepost.model.identifiers import JobName, NodeId
from fencepost.model.intake import Intake
from fencepost.model.job import JobSpec
from fencepost.model.message import Reply
from fencepost.model.node import JOBS_TOLD_MAX, Node
from fencepost.ports.executor import Job
from fencepost.ports.leases import LeaseStore
from fencepost.ports.store import Store
from fencepost.services.active import ActiveRuns
from fencepost.services.broker_checkup import BrokerView, look
from fencepost.services.broker_link import BrokerLink, BrokerServices
from fencepost.services.deliverer import Deliverer
from fencepost.services.heartbeat import HeartbeatThread
from fencepost.services.intake import IntakeService
from fencepost.services.job_loop import JobLoop
from fencepost.services.node import SERVICES_THAT_THINK, NodeRunner, Surroundings
from fencepost.services.offload import OffloadThreads
from fencepost.services.processor import Processor
from fencepost.services.processors import Processors
from fencepost.services.replies import Replies
from fencepost.services.service import Service
from fencepost.services.stall_watch import StallWatch
from fencepost.services.trail import Trail
from fencepost.telemetry.logs import Log
from fencepost.telemetry.run_lines import keep_run_lines
from fencepost.wiring import open_broker, open_store


def build_node(
    store: Store,
    leases: LeaseStore,
    settings: Settings,
    jobs: Mapping[JobName, Job],
    *,
    plans: bool,
    works: bool,
    code_digest: str = "",
    clock: Clock | None = None,
) -> NodeRunner:
    """A node on this host, with a name that no other process has or will have."""
    name = settings.node or f"{socket.gethostname()}-{os.getpid()}"
    node = Node(
        node_id=NodeId(f"{name}-{uuid4().hex[:8]}"),
        host=socket.gethostname(),
        pid=os.getpid(),
        plans=plans,
        works=works,
        queues=settings.queues if works else (),
        concurrency=settings.concurrency if works else 0,
        code_digest=code_digest,
        namespace=settings.namespace,
    )
    clock = clock or SystemClock()
    if works:
        keep_run_lines()
    runner = NodeRunner(
        node,
        Surroundings(
            store=store,
            leases=leases,
            clock=clock,
            dice=random.random,
            settings=settings,
            jobs={name: job for name, job in jobs.items() if not job.spec.is_done_elsewhere},
            heart=lambda active: _heart(active, settings, clock),
            thinkers=OffloadThreads(threads=SERVICES_THAT_THINK) if plans else None,
        ),
    )
    watch = StallWatch(clock, settings.lease_ttl_s)
    runner.also(watch)
    runner.membership.stall_s = watch.worst_s
    if works and len(jobs) <= JOBS_TOLD_MAX:
        runner.membership.jobs = tuple(sorted(jobs))
    return runner


async def broker_services(
    store: Store,
    settings: Settings,
    jobs: Mapping[JobName, Job],
    intakes: Sequence[Intake],
    node_id: NodeId,
) -> BrokerServices | None:
    """What a working node does over its message broker; None where it has nothing to do there. A broker that
    is away is waited for; one that refuses is refused."""
    sent = {name: job.spec for name, job in jobs.items() if job.spec.message is not None}
    if not sent and not intakes:
        return None
    if not settings.broker:
        names = ", ".join(sorted([*sent, *(one.job for one in intakes)]))
        Log("broker").warning("no broker is set: these jobs wait", jobs=names, remedy="--broker URL")
        return None
    destinations = broker_destinations(settings, sent.values(), intakes)
    link, trail = BrokerLink(lambda: open_broker(settings), destinations), Trail(store)
    services: list[Service] = [
        IntakeService(store, one, jobs[one.job].spec, link, settings) for one in intakes
    ]
    if sent:
        services.append(Deliverer(store, sent, link, settings, node_id, random.random, trail))
    if reply_destination(settings.namespace) in destinations:
        services.append(Replies(store, link, settings, random.random, trail))
    with suppress(BrokerUnavailable):
        await link.ready()
    return BrokerServices(link, services, trail)


def broker_destinations(settings: Settings, jobs: Iterable[JobSpec], intakes: Iterable[Intake]) -> list[str]:
    """Where a working node sends runs to, takes messages from, and hears of processors."""
    routes = [one.message for one in jobs if one.message is not None]
    found = {one.destination for one in routes} | {one.source for one in intakes}
    if any(one.reply is Reply.RESULT for one in routes):
        found.add(reply_destination(settings.namespace))
    return sorted(found)


async def look_at_broker(
    settings: Settings, jobs: Iterable[JobSpec], intakes: Iterable[Intake]
) -> BrokerView | None:
    """How the broker stands that an application needs; None where it needs none."""
    destinations = broker_destinations(settings, jobs, intakes)
    if not destinations:
        return None
    if not settings.broker:
        waits = f"no broker is set, and what goes over {', '.join(destinations)} waits"
        return BrokerView(None, destinations, trouble=f"{waits}; add --broker URL, or FENCEPOST_BROKER")
    return await look(lambda: open_broker(settings), destinations)


async def build_processors(
    settings: Settings, jobs: Mapping[JobName, Job], destinations: Sequence[str]
) -> Processors:
    """A process that does runs from messages. A broker that is away is waited for; one that refuses is
    refused."""
    link = BrokerLink(lambda: open_broker(settings), destinations)
    who = f"{socket.gethostname()}-{os.getpid()}-{uuid4().hex[:8]}"
    with suppress(BrokerUnavailable):
        await link.ready()
    job_loop = JobLoop()
    each = [Processor(one, jobs, link, settings, who, job_loop) for one in destinations]
    return Processors(link, each, settings.grace_s, job_loop)


def _heart(active: ActiveRuns, settings: Settings, clock: Clock) -> HeartbeatThread:
    return HeartbeatThread(lambda: open_store(settings, clock), active, settings)
