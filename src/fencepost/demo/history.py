"""The last days of the shop, written before the demo starts.

Nothing here is faked. The store is opened with a clock that stands in the past and is moved on by hand, and
everything but the work itself goes the ordinary way: deployments bring schedules, leases are granted and
lost, planners write ticks under their epochs, the judge says what is too late, people pause, freeze, replay
and fill in, and each of them leaves an entry in the audit log. Only the ends of the runs are written in one
transaction (`settling`), because three days of work would take three days. An audit over it finds no fault.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from fencepost.app import Fencepost
from fencepost.clock import SystemClock
from fencepost.config import Settings
from fencepost.core.planning import Rules, plan
from fencepost.demo.settling import Settler
from fencepost.demo.shop import LIVELY
from fencepost.model.access import Role
from fencepost.model.audit import Author
from fencepost.model.backfill import FillMode, NewBackfill
from fencepost.model.clocks import Monotonic
from fencepost.model.freeze import Scope, ScopeKind
from fencepost.model.identifiers import Epoch, NodeId, ScheduleId, Shard
from fencepost.model.job import JobSpec
from fencepost.model.leader import Registered
from fencepost.model.lease import Granted
from fencepost.model.plan import Cursor, Plan
from fencepost.model.run import RunFilter, RunState
from fencepost.model.schedule import ScheduleSpec
from fencepost.operations import backfills as backfill_operations
from fencepost.operations import credentials, pausing
from fencepost.operations import runs as run_operations
from fencepost.operations import schedules as schedule_operations
from fencepost.operations.control import Control
from fencepost.ports.store import Store
from fencepost.services.backfiller import Backfiller
from fencepost.services.deployer import Deployer
from fencepost.services.planner import TriggerCache
from fencepost.services.reaper import Reaper
from fencepost.stores.sqlite.opening import SCHEME, path_of
from fencepost.triggers import Every, tzdata_version
from fencepost.wiring import open_store

DAYS = timedelta(days=3)
LIVELY_FOR = timedelta(minutes=62)
HORIZON_S = 60.0
TICKS_MAX = 100_000
CURSORS_MAX = 1_000
PASSES_MAX = 20
JUDGED_TIMES = 5
LEASE_S = 10.0
FIRST, SECOND = NodeId("shop-1-4021-9f31c0aa"), NodeId("shop-2-3177-5be2d41c")
ANNA = ("anna", "dashboard from 10.1.4.7")
BORIS = ("boris", "cli on admin-2")
AWAY = "supplier-prices"
"""Whose worker has not been seen for a while."""


class PastClock:
    """It stands where it is put."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def wall(self) -> datetime:
        return self.at

    def monotonic(self) -> Monotonic:
        return Monotonic(self.at.timestamp())

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("no task sleeps in the past")


async def write_history(app: Fencepost) -> bool:
    """Give a new store a past; False where it has one already, or where its time is not ours to set."""
    if not app.settings.store.startswith(SCHEME):
        return False
    now = SystemClock().wall()
    clock = PastClock(now)
    store = await open_store(app.settings, clock)
    try:
        if await store.schedules.page(app.settings.namespace, None, 1):
            return False
    finally:
        await store.close()
    clock.at = (now - DAYS).replace(minute=0, second=0, microsecond=0)
    store = await open_store(app.settings, clock)
    try:
        await _Past(app, store, clock, now).live()
    finally:
        await store.close()
    return True


class _Past:
    """One life of the shop, up to now."""

    def __init__(self, app: Fencepost, store: Store, clock: PastClock, now: datetime) -> None:
        self._app = app
        self._store = store
        self._clock = clock
        self._now = now
        self._start = clock.at
        self._namespace = app.settings.namespace
        self._settled = clock.at
        self._epochs: Mapping[Shard, Epoch] = {}
        self._triggers = TriggerCache()
        self._settler = Settler(path_of(app.settings.store), self._namespace, (FIRST, SECOND), now)

    async def live(self) -> None:
        """Everything in its order."""
        await self._lead(FIRST)
        await self._deploy(self._first_code())
        await self._access()
        await self._work_until(self._start + timedelta(hours=21, minutes=9, seconds=30))
        await self._deploy(self._shop_code())
        await self._work_until(self._start + timedelta(hours=29, minutes=29, seconds=30))
        await pausing.pause(self._control(*BORIS, "the export is not read any more"), "legacy-export")
        await self._work_until(self._now - timedelta(hours=30))
        await self._fail_over()
        await self._work_until(self._now - timedelta(hours=14))
        await self._be_away(timedelta(minutes=40))
        await self._work_until(self._now - timedelta(hours=9))
        await self._operate()
        await self._work_until(self._now - timedelta(minutes=75))
        tier = Scope(ScopeKind.LABEL, "tier=batch")
        author = self._control(*ANNA, "the disks are being moved").author
        await self._store.freezes.freeze(self._namespace, tier, author)
        await self._work_until(self._now - LIVELY_FOR)
        await self._deploy(dict(self._app.code_schedules))
        await self._work_until(self._now - timedelta(minutes=35))
        await self._work_until(self._now, away={AWAY})
        await self._judge()

    def _first_code(self) -> dict[ScheduleId, ScheduleSpec]:
        """The code before the stock became too old and the invoices too valuable to lose."""
        code = self._shop_code()
        for place in ("hamburg", "madrid"):
            name = ScheduleId(f"stock-sync-{place}")
            code[name] = replace(code[name], trigger=Every("10m").to_json())
        invoices = ScheduleId("send-invoices")
        code[invoices] = replace(code[invoices], labels={"team": "finance"}, payload={"batch": 100})
        return code

    def _shop_code(self) -> dict[ScheduleId, ScheduleSpec]:
        return {name: spec for name, spec in self._app.code_schedules.items() if name not in LIVELY}

    async def _deploy(self, code: dict[ScheduleId, ScheduleSpec]) -> None:
        specs: dict[str, JobSpec] = {name: job.spec for name, job in self._app.jobs.items()}
        await Deployer(self._store, self._namespace, specs, code, self._app.code_calendars).start()

    async def _access(self) -> None:
        boris = self._control(*BORIS)
        await credentials.create(boris, "grafana", Role.VIEWER)
        await credentials.create(boris, "deploys", Role.OPERATOR, lasts_s=90 * 86_400.0)
        old = await credentials.create(boris, "old laptop", Role.ADMIN)
        await credentials.revoke(boris, old.record.token_id)

    async def _lead(self, holder: NodeId) -> None:
        """Take every shard, as a node does that finds them free."""
        shards = [Shard(one) for one in range(await self._store.epochs.shards())]
        granted = await self._store.leases.acquire(shards, holder, LEASE_S)
        grants = {shard: one for shard, one in granted.items() if isinstance(one, Granted)}
        registered = await self._store.epochs.register(grants, holder)
        self._epochs = {shard: one.epoch for shard, one in registered.items() if isinstance(one, Registered)}
        assert len(self._epochs) == len(shards), "the leases of the past are free"

    async def _fail_over(self) -> None:
        """The first node stalls; the second leads, and what the first still wants to write is refused."""
        before = self._epochs
        self._clock.at += timedelta(seconds=LEASE_S + 2)
        await self._lead(SECOND)
        self._clock.at += timedelta(seconds=19)
        for shard in sorted(before)[:3]:
            await self._store.epochs.note_refusal(shard, before[shard], FIRST)

    async def _work_until(self, moment: datetime, away: set[str] | None = None) -> None:
        """Plan and work up to that moment."""
        await self._plan_until(moment)
        self._settler.settle(self._settled, moment, away or set())
        self._settled = moment

    async def _plan_until(self, moment: datetime) -> None:
        """What planners that were always on time would have written, a horizon ahead."""
        self._clock.at = moment
        for _ in range(PASSES_MAX):
            window = await self._store.plans.window(sorted(self._epochs), HORIZON_S, CURSORS_MAX)
            plans = [self._plan(one, window.through) for one in window.cursors]
            if not plans:
                return
            receipt = await self._store.plans.write(plans)
            assert not receipt.stale, "no other node leads in the past"
        raise AssertionError("the past has no end")

    def _plan(self, cursor: Cursor, through: datetime) -> Plan:
        rules = Rules(tzdata_version(), cursor.planned_through)
        trigger = self._triggers.get(cursor)
        return plan(cursor, trigger, through, self._epochs[cursor.shard], TICKS_MAX, rules)

    async def _be_away(self, length: timedelta) -> None:
        """No worker was there; the judge says what of it is too late and what is caught up with."""
        await self._plan_until(self._clock.at + length)
        self._settled = self._clock.at
        await self._judge()

    async def _judge(self) -> None:
        reaper = Reaper(self._store, self._app.settings)
        for _ in range(JUDGED_TIMES):
            await reaper.run_once()

    async def _operate(self) -> None:
        """What two people did one evening."""
        anna = self._control(*ANNA, "the link to Madrid is repaired")
        dead = await self._store.ledger.list(
            self._namespace,
            RunFilter(schedule_id=ScheduleId("stock-sync-madrid"), state=RunState.DEAD, limit=3),
        )
        await run_operations.replay(anna, [one.run_key for one in dead[:2]])
        wrong = await schedule_operations.trigger(self._control(*BORIS), "search-reindex")
        await run_operations.cancel(self._control(*BORIS), wrong, "the wrong button")
        since = self._now - timedelta(hours=14, minutes=1)
        missed = NewBackfill(
            ScheduleId("fraud-scores"), since, since + timedelta(minutes=42), FillMode.MISSED, 2
        )
        await backfill_operations.start(self._control(*ANNA, "scores of the outage"), missed)
        filler = Backfiller(self._store, Settings(), self._clock)
        for _ in range(PASSES_MAX):
            if await filler.run_once() > 0:
                return

    def _control(self, name: str, source: str, reason: str | None = None) -> Control:
        return Control(self._store, self._namespace, Author(name, source, reason), settings=Settings())
