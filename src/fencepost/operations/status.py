"""The state of the house, in one answer."""

from __future__ import annotations

from fencepost.core.completeness import COMPLETENESS_WINDOW_S
from fencepost.model.access import Role
from fencepost.operations.control import Control
from fencepost.operations.leases import shown_leases
from fencepost.operations.operation import Request, operation
from fencepost.operations.responses.fleet import (
    NodeResponse,
    WorkerResponse,
    alarm_response,
    node_fields,
    shard_response,
    worker_fields,
)
from fencepost.operations.responses.freezes import freeze_response
from fencepost.operations.responses.gates import gate_response
from fencepost.operations.responses.status import (
    AttentionResponse,
    LeaseStoreResponse,
    StatusResponse,
    UnservedResponse,
    completeness_response,
    depth_response,
)
from fencepost.services.fleet import look
from fencepost.services.serving import unserved

COUNTED_MAX = 1_000
"""Runs that need a person are counted up to this number."""


class StatusRequest(Request, frozen=True, kw_only=True):
    """Nothing."""


@operation("status.show", "GET /status", Role.VIEWER)
async def show_status(control: Control, request: StatusRequest) -> StatusResponse:
    """Show the fleet, the queue, how the ticks of the last day stand, and what needs a person."""
    store, namespace = control.store, control.namespace
    fleet = await look(store, control.leases, control.settings.skew_warning_s, control.kept_to)
    depth = await store.ledger.depth(namespace)
    tally = await store.ledger.tally(namespace, COMPLETENESS_WINDOW_S)
    attention = await store.ledger.attention(namespace, COUNTED_MAX)
    return StatusResponse(
        shards=[shard_response(one) for one in fleet.shards],
        nodes=[NodeResponse(**node_fields(one)) for one in fleet.nodes if one.node.plans],
        workers=[WorkerResponse(**worker_fields(one)) for one in fleet.nodes if one.node.works],
        queue=depth_response(depth),
        completeness=completeness_response(tally),
        freezes=[freeze_response(one) for one in await store.freezes.all(namespace)],
        gates=[gate_response(one) for one in await store.gates.closed(namespace)],
        attention=AttentionResponse(dead=attention.dead, held=attention.held, counted_max=COUNTED_MAX),
        unserved=[
            UnservedResponse(schedule_id=one.schedule_id, job=one.job)
            for one in await unserved(store, namespace)
        ],
        alarms=[alarm_response(one) for one in fleet.alarms],
        leases=LeaseStoreResponse(url=shown_leases(control, fleet), trouble=fleet.trouble),
    )
