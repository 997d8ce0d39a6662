"""What an application needs once it does something: opens its store, runs a node, defines a command.

Each name is imported when it is first used, so a program that only defines functions and enqueues them does
not load a node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.model.lazy import lazy

if TYPE_CHECKING:
    from fencepost.app.calendars import Calendars
    from fencepost.app.celery import celery_job
    from fencepost.app.commands import command_work
    from fencepost.app.external import external_spec
    from fencepost.app.handles import Handle
    from fencepost.app.http import http_job
    from fencepost.app.message import intake, message_spec, told_by_function
    from fencepost.app.notifying import delivery_jobs, delivery_specs, hook, notify_target
    from fencepost.app.outbox import Outbox
    from fencepost.app.runs import Runs
    from fencepost.app.schedules import Schedules
    from fencepost.app.windows import fitting_job
    from fencepost.assembly import broker_services, build_node
    from fencepost.executors.command import AllowList
    from fencepost.executors.external import ExternalExecutor
    from fencepost.executors.message import MessageFunction
    from fencepost.executors.process import ProcessExecutor, ProcessPool
    from fencepost.model.audit import PROGRAM
    from fencepost.operations.control import Control
    from fencepost.services.bridge import bridge, keep_for_good, open_bridge
    from fencepost.services.calendars import defined
    from fencepost.services.deployer import Deployer, code_digest
    from fencepost.services.enqueueing import ENQUEUE_BATCH_MAX, enqueue, new_run
    from fencepost.services.run_context import ServedTransaction
    from fencepost.wiring import (
        borrow_store,
        check_blocking,
        is_awaited,
        open_leases,
        open_store,
    )

__all__ = [
    "ENQUEUE_BATCH_MAX",
    "PROGRAM",
    "AllowList",
    "Calendars",
    "Control",
    "Deployer",
    "ExternalExecutor",
    "Handle",
    "MessageFunction",
    "Outbox",
    "ProcessExecutor",
    "ProcessPool",
    "Runs",
    "Schedules",
    "ServedTransaction",
    "borrow_store",
    "bridge",
    "broker_services",
    "build_node",
    "celery_job",
    "check_blocking",
    "code_digest",
    "command_work",
    "defined",
    "delivery_jobs",
    "delivery_specs",
    "enqueue",
    "external_spec",
    "fitting_job",
    "hook",
    "http_job",
    "intake",
    "is_awaited",
    "keep_for_good",
    "message_spec",
    "new_run",
    "notify_target",
    "open_bridge",
    "open_leases",
    "open_store",
    "told_by_function",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "ENQUEUE_BATCH_MAX": "fencepost.services.enqueueing",
        "PROGRAM": "fencepost.model.audit",
        "AllowList": "fencepost.executors.command",
        "Calendars": "fencepost.app.calendars",
        "Control": "fencepost.operations.control",
        "Deployer": "fencepost.services.deployer",
        "ExternalExecutor": "fencepost.executors.external",
        "Handle": "fencepost.app.handles",
        "MessageFunction": "fencepost.executors.message",
        "bridge": "fencepost.services.bridge",
        "keep_for_good": "fencepost.services.bridge",
        "open_bridge": "fencepost.services.bridge",
        "broker_services": "fencepost.assembly",
        "intake": "fencepost.app.message",
        "message_spec": "fencepost.app.message",
        "delivery_jobs": "fencepost.app.notifying",
        "delivery_specs": "fencepost.app.notifying",
        "hook": "fencepost.app.notifying",
        "notify_target": "fencepost.app.notifying",
        "Outbox": "fencepost.app.outbox",
        "ProcessExecutor": "fencepost.executors.process",
        "ProcessPool": "fencepost.executors.process",
        "Runs": "fencepost.app.runs",
        "Schedules": "fencepost.app.schedules",
        "ServedTransaction": "fencepost.services.run_context",
        "borrow_store": "fencepost.wiring",
        "build_node": "fencepost.assembly",
        "celery_job": "fencepost.app.celery",
        "check_blocking": "fencepost.wiring",
        "code_digest": "fencepost.services.deployer",
        "command_work": "fencepost.app.commands",
        "defined": "fencepost.services.calendars",
        "enqueue": "fencepost.services.enqueueing",
        "external_spec": "fencepost.app.external",
        "fitting_job": "fencepost.app.windows",
        "http_job": "fencepost.app.http",
        "is_awaited": "fencepost.wiring",
        "new_run": "fencepost.services.enqueueing",
        "open_leases": "fencepost.wiring",
        "open_store": "fencepost.wiring",
        "told_by_function": "fencepost.app.message",
    },
)
