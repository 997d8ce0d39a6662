"""What the routes serve with: the store, and the claims that wait for work."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import field, replace
from typing import NamedTuple

from fencepost.config import Settings
from fencepost.core.access import acts_in
from fencepost.core.fair_share import Allowance
from fencepost.model.access import Principal
from fencepost.model.audit import Author
from fencepost.model.clocks import StoreTime
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Namespace
from fencepost.operations.control import Control
from fencepost.ports.store import Store
from fencepost.services.external_runs import ExternalRuns
from fencepost.services.fleet import LeaseReader
from fencepost.services.long_poll import LongPoll
from fencepost.services.offload import OffloadThreads
from fencepost.web.dashboard.forecasts import Forecasts
from fencepost.web.lanes import off_turn
from fencepost.web.problems import NOT_FOUND, Problem, Refusal

NAMESPACE_HEADER = "fencepost-namespace"
ENQUEUES_RESERVE_S = 10.0
"""A namespace may enqueue what it may enqueue in this time at once."""
GLANCES_MAX = 500
GLANCES_EACH_MAX = 100
"""The number of readers of schedules that wait for their turn, in all and of one credential."""


class Once(NamedTuple):
    """A call's own key, when it was first made with it, and whether this is a repetition."""

    key: str | None = None
    requested_at: StoreTime | None = None
    again: bool = False


@dataclass(frozen=True)
class Caller:
    """The caller, its address, and its namespace."""

    principal: Principal
    namespace: Namespace
    source: str

    def author(self, reason: str | None) -> Author:
        """The author of a change, for the audit log."""
        return Author(self.principal.name, self.source, reason, self.principal.audit_id)


@dataclass(frozen=True)
class Serving:
    """One store, served. The calls for workers outside are made as namespaces ask for them, and kept: they
    remember what they have learnt of the jobs."""

    store: Store
    settings: Settings
    room: LongPoll
    leases: LeaseReader | None = None
    dice: Callable[[], float] = random.random
    offload: OffloadThreads = field(default_factory=OffloadThreads, repr=False)
    offload_short: OffloadThreads = field(
        default_factory=lambda: OffloadThreads(waiting_max=GLANCES_MAX, each_max=GLANCES_EACH_MAX), repr=False
    )
    """Many readers come at once, as all tabs do that hear of a change; searches do not hold them up."""
    enqueues: Allowance = field(default_factory=lambda: Allowance(ENQUEUES_RESERVE_S), repr=False)
    forecasts: Forecasts = field(default_factory=Forecasts, repr=False)
    _verbs: dict[Namespace, ExternalRuns] = field(default_factory=dict, repr=False)

    def control(self, caller: Caller, reason: str | None = None, once: Once | None = None) -> Control:
        """Control of the store in the caller's name."""
        once = once or Once()
        return Control(
            self.store,
            caller.namespace,
            caller.author(reason),
            self.leases,
            self.settings,
            requested_at=once.requested_at,
            idempotency_key=once.key,
            principal=caller.principal,
            offload=off_turn(self.offload.of(caller.principal.asker)),
            offload_short=off_turn(self.offload_short.of(caller.principal.asker)),
            repeated=once.again,
            enqueues=self.enqueues,
        )

    def verbs(self, namespace: Namespace) -> ExternalRuns:
        """The calls for workers outside."""
        if namespace not in self._verbs:
            settings = replace(self.settings, namespace=namespace)
            self._verbs[namespace] = ExternalRuns(self.store, settings, self.dice)
        return self._verbs[namespace]


def namespace_of(principal: Principal, named: str | None, home: Namespace) -> Namespace:
    """A credential has its namespace. One that is good everywhere may choose, and takes the server's unless
    it does."""
    found = acts_in(principal, Namespace(named) if named else None, home)
    if found is None:
        told = f"nothing of it is there for this credential, which is good in {principal.namespace}"
        raise Refusal(Problem(NOT_FOUND, f"namespace {named}: {told}"))
    return found
