"""What the check-up gathers from an application and from what a store has seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from fencepost.config import settings_from
from fencepost.core.checkup import Finding, Point, Severity, check_up
from fencepost.core.checkup.facts import Effect, Facts, JobSheet, LedgerSheet, Watch
from fencepost.model.audit import Author
from fencepost.model.claiming import ClaimRequest
from fencepost.model.identifiers import JobName, NodeId, RunKey, ScheduleId
from fencepost.model.job import JobSpec, Retry
from fencepost.model.node import Node, NodeReport
from fencepost.model.run import RunState
from fencepost.model.schedule import ScheduleSpec
from fencepost.model.stretch import parse_stretch
from fencepost.services import checkup
from fencepost.services.checkup import Target, edges, gather
from fencepost.services.reaper import Reaper
from fencepost.testing.clock import VirtualClock
from fencepost.triggers import Calendar, Combinable, Cron, Every
from tests.services.house import NS, START, House, PlanningNode, WorkingNode, make_job

REPORT = JobName("report")
SHEET = JobSheet(JobSpec(REPORT, retry=Retry(1), timeout=timedelta(seconds=5)), takes_run=True)
BERLIN = "Europe/Berlin"


def spec(trigger: Combinable | None = None, **options: Any) -> ScheduleSpec:
    return ScheduleSpec(REPORT, (trigger or Every("1h")).to_json(), **options)


def target(
    house: House, schedules: Mapping[str, ScheduleSpec] | None = None, job: JobSheet = SHEET
) -> Target:
    by_id = {ScheduleId(name): one for name, one in (schedules or {}).items()}
    return Target(house.settings, {job.spec.name: job}, by_id, {})


async def told(house: House, under: Target, point: Point, online: bool = True) -> list[Finding]:
    return list(check_up(await looked(house, under, online), [point]))


async def looked(house: House, under: Target, online: bool = True) -> Facts:
    return await gather(under, house.store if online else None, house.clock, "there is no store yet")


async def worked(house: House, job: Any) -> None:
    """A node does all that is due."""
    node = WorkingNode(house, job)
    await node.register()
    await node.work()


async def test_without_a_store_the_code_is_looked_at_and_nothing_is_asked() -> None:
    house = House()
    found = await looked(house, target(house, {"beat": spec()}), online=False)
    (beat,) = found.schedules
    assert (beat.schedule_id, beat.period_min) == ("beat", timedelta(hours=1))
    assert (found.ledger, found.now) == (None, START)
    assert house.store.calls == []


async def test_nothing_is_written() -> None:
    house = House()
    await looked(house, target(house, {"beat": spec()}))
    writes = {name for name, _ in house.store.calls}
    assert writes <= {
        *("schedules.page", "jobs.all", "calendars.all", "audit_log.list"),
        *("ledger.list", "ledger.typical_run_s", "ledger.taken_away", "nodes.live", "now"),
    }


async def test_schedules_of_the_store_count_too_unless_they_are_paused() -> None:
    house = House()
    await house.put("stored", every_s=60)
    await house.put("quiet", every_s=60)
    await house.memory.schedules.pause(NS, ScheduleId("quiet"), "quiet")
    found = await looked(house, target(house, {"beat": spec()}))
    assert [one.schedule_id for one in found.schedules] == ["beat", "stored"]


async def test_code_that_is_not_applied_yet_counts_and_an_operators_edit_after_it_does() -> None:
    house = House()
    old, new, edited = spec(Every("1h")), spec(Every("2h")), spec(Every("3h"))
    put = house.memory.schedules.put
    for one, digest in ((old, "code"), (edited, None)):
        await put(NS, ScheduleId("beat"), one, tzdata="2026a", expected_version=None, code_digest=digest)
    before = await looked(house, target(house, {"beat": old}))
    after = await looked(house, target(house, {"beat": new}))
    assert [one.spec.trigger for one in before.schedules] == [edited.trigger]
    assert [one.spec.trigger for one in after.schedules] == [new.trigger]


async def test_a_job_that_only_the_store_knows_is_unknown() -> None:
    house = House()
    await house.memory.jobs.register(NS, [JobSpec(JobName("elsewhere"))])
    finding, _ = await told(house, target(house), Point.RUN_KEY)
    assert (finding.severity, finding.reason) == (
        Severity.UNKNOWN,
        "job elsewhere: its code is not in this target",
    )


async def test_schedules_that_say_the_same_share_one_rhythm_unless_they_are_hashed() -> None:
    house = House()
    alike, hashed = spec(Cron("*/5 * * * *")), spec(Cron("H * * * *"))
    found = await looked(
        house, target(house, {"a": alike, "b": alike, "c": hashed, "d": hashed}), online=False
    )
    rhythms = [one.rhythm for one in found.schedules]
    assert rhythms[0] is rhythms[1]
    assert len({id(one) for one in rhythms}) == 3


async def test_an_unknown_calendar_leaves_its_schedule_unread_and_no_other() -> None:
    house = House()
    trigger = Calendar("de").business_days("09:00")
    wanted = target(house, {"beat": spec(), "shop": spec(trigger)})
    found = {one.schedule_id: one for one in (await looked(house, wanted)).schedules}
    assert found[ScheduleId("beat")].trouble is None
    assert "calendar de" in (found[ScheduleId("shop")].trouble or "")


async def test_a_run_that_takes_longer_than_the_period_is_known_from_the_ledger() -> None:
    house = House()
    await house.put("beat", every_s=10)
    planner = PlanningNode(house, "planner")
    await planner.elector.run_once()
    await planner.planner.run_once()
    house.clock.advance(10)

    async def report() -> None:
        house.clock.advance(25)

    await worked(house, make_job(report))
    slow = replace(SHEET, spec=replace(SHEET.spec, timeout=None))
    findings = await told(house, target(house, job=slow), Point.OVERLAP)
    assert any(one.reason.startswith("a run takes 25s, longer than the period of 10s") for one in findings)


async def test_replay_is_found_untried_and_then_tried() -> None:
    house = House()
    await house.enqueue("bad")

    async def report() -> None:
        raise ValueError("no")

    await worked(house, make_job(report, attempts=1))
    (finding,) = await told(house, target(house), Point.REPLAY)
    assert (finding.severity, finding.remedy) == (
        Severity.WARN,
        "find out why it died, then: fencepost runs replay report#bad",
    )
    await house.memory.ledger.replay(NS, [RunKey("report#bad")], 0.0, Author("anna", "a test"))
    (finding,) = await told(house, target(house), Point.REPLAY)
    assert finding.severity is Severity.OK
    assert "anna replayed report#bad" in finding.reason


async def test_fencing_is_unknown_until_a_run_was_taken_from_a_silent_worker() -> None:
    house = House()
    (finding,) = await told(house, target(house), Point.FENCING)
    assert (finding.severity, finding.reason) == (Severity.UNKNOWN, "nothing has run here yet")
    await house.enqueue("slow")
    await house.memory.jobs.register(NS, [SHEET.spec])
    claim_request = ClaimRequest(NodeId("worker"), house.settings.queues, (REPORT,), 30.0)
    (claim,) = await house.memory.ledger.claim_direct(claim_request, 1)
    house.clock.advance(house.settings.heartbeat_timeout_s + 1)
    await Reaper(house.store, house.settings).run_once()
    (finding,) = await told(house, target(house), Point.FENCING)
    assert finding.severity is Severity.OK
    assert f"an attempt of report#slow under fence {claim.fence} lost its run" in finding.reason


@pytest.mark.parametrize(("works", "severity"), [(True, Severity.OK), (False, Severity.WARN)])
async def test_the_last_run_of_a_job_that_audits_counts(works: bool, severity: Severity) -> None:
    house = House()
    await house.enqueue("1", job="fencepost-audit")

    async def audit() -> None:
        assert works

    await worked(house, make_job(audit, "fencepost-audit", attempts=1))
    findings = await told(house, target(house), Point.ALERTS)
    assert [one.severity for one in findings if "fencepost-audit#1" in one.reason] == [severity]
    house.clock.advance(timedelta(days=2).total_seconds())
    assert (await looked(house, target(house))).ledger is not None
    assert not any(
        "fencepost-audit#1" in one.reason for one in await told(house, target(house), Point.ALERTS)
    )


async def test_a_scheduled_audit_of_the_target_counts_by_itself() -> None:
    house = House()
    guard = replace(SHEET, watches=frozenset({Watch.COMPLETENESS}))
    severities = [
        one.severity for one in await told(house, target(house, {"beat": spec()}, guard), Point.ALERTS)
    ]
    assert sorted(severities) == [Severity.OK, Severity.UNKNOWN]


async def test_spread_is_part_of_the_count_of_herds() -> None:
    house = House()
    herd = {f"s{number}": spec(Every("1h")) for number in range(60)}
    apart = {name: replace(one, spread=parse_stretch("30m")) for name, one in herd.items()}
    (finding,) = await told(house, target(house, herd), Point.HERDS, online=False)
    assert finding.reason.startswith("60 runs are due in the second of 2026-03-01T12:00:00Z")
    (finding,) = await told(house, target(house, apart), Point.HERDS, online=False)
    assert finding.severity is Severity.OK


@pytest.mark.parametrize(
    ("trigger", "effects"),
    [
        (Cron("30 2 * * *", tz=BERLIN), [Effect.MOVED, Effect.MOVED]),
        (Cron("30 2 * * *", tz=BERLIN, gap="skip", fold="both"), [Effect.SKIPPED, Effect.DOUBLED]),
        (Cron("30 2 * * *", tz=BERLIN, fold="last"), [Effect.MOVED, Effect.MOVED]),
        (Cron("15,45 2 * * *", tz=BERLIN), [Effect.SKIPPED, Effect.MOVED]),
        (Cron("0 2,3 * * *", tz=BERLIN), [Effect.SKIPPED, Effect.MOVED]),
        (Cron("*/5 * * * *", tz=BERLIN), []),
        (Cron("0 12 * * *", tz=BERLIN), []),
        (Cron("30 2 * * *"), []),
        (Every("1h"), []),
        (Cron("30 2 * * *", tz=BERLIN) | Cron("0 12 * * *", tz=BERLIN), [Effect.UNTOLD, Effect.UNTOLD]),
        (Cron("0 11 * * *", tz=BERLIN) | Cron("0 12 * * *", tz=BERLIN), []),
        (
            Cron("30 2 * * *", tz=BERLIN, gap="skip", fold="both")
            | Cron("30 2 * * *", tz="America/New_York", gap="skip", fold="both"),
            [Effect.UNTOLD] * 3,
        ),
    ],
    ids=str,
)
def test_every_edge_of_the_year_is_found_and_what_it_does(trigger: Combinable, effects: list[Effect]) -> None:
    assert [edge.effect for edge in edges(trigger, START)] == effects


async def test_a_limit_on_previews_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "RHYTHMS_PREVIEWED_MAX", 1)
    house = House()
    local = {f"s{hour}": spec(Cron(f"0 {hour} * * *", tz=BERLIN)) for hour in range(3)}
    findings = await told(house, target(house, local), Point.DST, online=False)
    assert "2 of 3 different triggers were not looked at" in [one.reason for one in findings]


async def test_a_limit_on_run_lengths_is_told_and_the_shortest_periods_are_asked_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checkup, "LENGTHS_ASKED_MAX", 1)
    house = House()
    slow = replace(SHEET, spec=replace(SHEET.spec, timeout=None))
    wanted = target(house, {"rare": spec(Every("2h")), "often": spec(Every("1h"))}, slow)
    findings = await told(house, wanted, Point.OVERLAP)
    assert house.store.arguments("ledger.typical_run_s") == [(NS, "often")]
    reason = "how long runs take was not asked for 1 schedules of long periods"
    assert reason in [one.reason for one in findings]


async def test_a_state_other_than_dead_is_no_dead_run() -> None:
    house = House()
    await house.enqueue("waiting")
    assert await house.states() == [RunState.READY]
    (finding,) = await told(house, target(house), Point.REPLAY)
    assert finding.severity is Severity.OK


@pytest.mark.parametrize(("ahead_s", "said"), [(5, "5 s ahead of"), (-5, "5 s behind"), (0.5, None)])
async def test_a_clock_that_differs_from_the_stores_is_told_of(ahead_s: float, said: str | None) -> None:
    house = House()
    clock = VirtualClock(START + timedelta(seconds=ahead_s))
    facts = await gather(target(house), house.store, clock, "")
    told = [one.reason for one in check_up(facts, [Point.RETENTION]) if one.severity is Severity.WARN]
    assert told == ([f"the clock of this host is {said} the store's"] if said else [])


async def test_a_schedule_whose_job_no_process_has_does_not_go_untold() -> None:
    house, old = House(), JobName("old")
    await house.memory.jobs.register(NS, [JobSpec(old)])
    hourly = ScheduleSpec(old, Every("1h").to_json())
    await house.memory.schedules.put(NS, ScheduleId("left"), hourly, tzdata="2026a", expected_version=None)
    await alive(house, NodeReport(jobs=(REPORT,)))
    finding, _ = await told(house, target(house, {"beat": spec()}), Point.RUN_KEY)
    assert (finding.severity, finding.schedules) == (Severity.WARN, ("left",))
    assert finding.reason == (
        "no running process has job old, nor has this target: its schedules fire into nothing"
    )
    await alive(house, NodeReport(jobs=(old,)))
    finding, _ = await told(house, target(house, {"beat": spec()}), Point.RUN_KEY)
    assert finding.severity is Severity.UNKNOWN


async def test_the_longest_pause_of_the_living_nodes_is_held_against_the_term_of_their_leases() -> None:
    house = House()
    under = target(house)
    assert (await looked(house, under)).ledger == LedgerSheet()
    await alive(house, NodeReport(stall_s=4.5))
    (finding,) = (one for one in await told(house, under, Point.FENCING) if one.severity is Severity.WARN)
    assert "node web-1 stood still for 4.5s" in finding.reason
    longer = replace(under, settings=settings_from({}, overrides={"lease_ttl_s": 14}))
    (finding,) = (one for one in await told(house, longer, Point.FENCING) if "web-1" in one.reason)
    assert finding.severity is Severity.OK


async def alive(house: House, report: NodeReport) -> None:
    """One live node that works."""
    node = Node(NodeId("web-1"), "web", 1, plans=True, works=True)
    await house.memory.nodes.beat(node, report, 60)
