"""`POST /api/v1/claims`: work for a worker outside, as soon as there is some."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct, field

from fencepost.config import Settings
from fencepost.model.access import Role
from fencepost.model.identifiers import outside_worker
from fencepost.model.times import to_utc_text
from fencepost.operations.operation import operation
from fencepost.operations.responses.runs import PredecessorResponse, predecessor_response
from fencepost.operations.words import BIG_INTEGER_MAX, Moment, Name, Seconds
from fencepost.services.external_runs import Loan, Order
from fencepost.services.long_poll import Poller
from fencepost.telemetry.traces import carried_for
from fencepost.web.counter import Counter

LIMIT_MAX = 100
WAIT_MAX_S = 60.0
NAMES_MAX = 100
KNOWN_MAX = 1_000


class ClaimRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Which worker asks, for which work, and how long it is ready to wait for it."""

    worker: Annotated[
        Name,
        Meta(
            description="The worker's name, made anew at each start. One that asks again under its name "
            "takes the place of its earlier request.",
            examples=["w1-5f0c9a"],
        ),
    ]
    jobs: Annotated[
        list[Name],
        Meta(
            min_length=1,
            max_length=NAMES_MAX,
            description="The jobs that it can do; each must be registered and external.",
            examples=[["resize"]],
        ),
    ]
    queues: Annotated[
        list[Name],
        Meta(max_length=NAMES_MAX, description="The queues to serve; those of the jobs unless given."),
    ] = field(default_factory=list)
    limit: Annotated[int, Meta(ge=1, le=LIMIT_MAX, description="How many runs at most.")] = 1
    wait_s: Annotated[
        float, Meta(ge=0, le=WAIT_MAX_S, description="How long to wait where nothing is due.")
    ] = 0.0
    known: Annotated[
        list[Annotated[int, Meta(ge=1, le=BIG_INTEGER_MAX)]],
        Meta(
            max_length=KNOWN_MAX,
            description="Every fence that it was ever given, but for those whose report was answered with "
            "200. Runs in its name under any other, whose answer was lost, are given again before new ones.",
        ),
    ] = field(default_factory=list)


class ClaimedRun(Struct):
    """One attempt of one run, granted to one worker under one fence."""

    run_key: Annotated[str, Meta(examples=["invoices#2026-03-01T00:00:00Z#3"])]
    job: Annotated[str, Meta(examples=["resize"])]
    attempt: Annotated[int, Meta(description="1 for the first; sent with every report.", examples=[1])]
    fence: Annotated[
        int,
        Meta(description="Larger than that of any attempt before; sent with every report.", examples=[42]),
    ]
    epoch: Annotated[int, Meta(description="Of the leader that planned the run; 0 where none did.")]
    schedule_id: Annotated[str | None, Meta(description="Null where the run was enqueued by hand.")]
    fire_time: Annotated[Moment, Meta(description="The nominal time of the tick.")]
    version: Annotated[int, Meta(description="Of the schedule that planned it.")]
    payload: dict[str, Any]
    previous: Annotated[
        Moment | None, Meta(description="The fire time of the schedule's last successful run.")
    ]
    after: Annotated[
        list[PredecessorResponse], Meta(description="What the run followed, where its job runs after others.")
    ]
    started_at: Annotated[Moment, Meta(description="When the attempt began, by the store's clock.")]
    timeout_s: Annotated[
        Seconds | None, Meta(description="How long the attempt may take; no heartbeat is accepted later.")
    ]
    heartbeat_every_s: Annotated[Seconds, Meta(description="How often to send a heartbeat.", examples=[5.0])]
    alive_for_s: Annotated[
        Seconds, Meta(description="How long the attempt counts as alive without a heartbeat.")
    ]
    traceparent: Annotated[
        str | None,
        Meta(
            description="The W3C header that makes the worker's spans part of the run's trace; null where "
            "runs are not traced."
        ),
    ] = None


class ClaimResponse(Struct):
    """The claimed runs; none where the wait was in vain."""

    claims: list[ClaimedRun]


@operation(
    "worker.claim",
    "POST /claims",
    Role.WORKER,
    repeatable=True,
    example={"worker": "w1-5f0c9a", "jobs": ["resize"], "limit": 10, "wait_s": 20, "known": [41]},
)
async def claim(counter: Counter, request: ClaimRequest) -> ClaimResponse:
    """Claim runs.

    Due runs of the jobs, at once or as soon as there are some, at most after `wait_s`. Runs that are in the
    worker's name under a fence that it does not list in `known` come first: the answer to an earlier claim
    was lost. A claim belongs to the credential that made it: only that one, or its successor by rotation,
    reports on the run. Safe to repeat."""
    worker = outside_worker(request.worker, counter.caller.principal.audit_id)
    order = Order(worker, tuple(request.jobs), tuple(request.queues), request.limit, tuple(request.known))
    poller = Poller()
    serving = counter.serving
    async with counter.until_gone(poller.leave):
        loans = await serving.room.serve(counter.verbs, order, request.wait_s, poller)
    return ClaimResponse([_shown(one, serving.settings) for one in loans])


def _shown(loan: Loan, settings: Settings) -> ClaimedRun:
    claim = loan.claim
    return ClaimedRun(
        run_key=claim.run_key,
        job=claim.job,
        attempt=claim.attempt,
        fence=claim.fence,
        epoch=claim.epoch,
        schedule_id=claim.schedule_id,
        fire_time=to_utc_text(claim.fire_time),
        version=claim.version,
        payload=claim.payload,
        previous=None if claim.previous is None else to_utc_text(claim.previous),
        after=[predecessor_response(one) for one in claim.after],
        started_at=to_utc_text(claim.started_at),
        timeout_s=loan.timeout_s,
        heartbeat_every_s=min(settings.heartbeat_every_s, loan.alive_for_s),
        alive_for_s=loan.alive_for_s,
        traceparent=carried_for(claim).get("traceparent"),
    )
