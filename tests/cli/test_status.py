"""`fencepost status` and `migrate`."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from fencepost.clock import SystemClock
from fencepost.config import settings_from
from fencepost.model.claiming import ClaimRequest
from fencepost.model.identifiers import (
    DEFAULT_NAMESPACE,
    DEFAULT_QUEUE,
    Epoch,
    JobName,
    Lineage,
    NodeId,
    RunKey,
    Shard,
)
from fencepost.model.job import JobSpec
from fencepost.model.lease import Granted
from fencepost.model.limits import JobLimit
from fencepost.model.node import Led, Node, NodeReport
from fencepost.model.run import NewRun, RunState
from fencepost.model.times import from_utc_text
from fencepost.ports.store import Store
from fencepost.stores import sqlite
from fencepost.testing.clock import VirtualClock
from fencepost.wiring import open_store
from tests.cli.calls import call, called, called_json

SHARD = [
    *("shard", "holder", "epoch", "expires_in_s"),
    *("since", "transitions", "renewals_failed", "trusted_for_s", "lineage"),
    *("renewed_at", "ttl_s"),
]
AWAY = "redis://:secret@127.0.0.1:1"
WIDTH_MAX = 100


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Store]:
    store = await open_store(settings_from({}, overrides={"store": url}))
    try:
        yield store
    finally:
        await store.close()


async def take_office(url: str, node_id: str, shards: Iterable[int], lineage: str | None = None) -> None:
    """A planner that leads these shards, by leases of the store or, with a lineage, from elsewhere."""
    name, wanted = NodeId(node_id), [Shard(one) for one in shards]
    async with opened(url) as store:
        if lineage is None:
            answers = await store.leases.acquire(wanted, name, 60)
            grants = {shard: one for shard, one in answers.items() if isinstance(one, Granted)}
        else:
            grants = {shard: Granted(Epoch(9), Lineage(lineage)) for shard in wanted}
        for shard, grant in grants.items():
            await store.epochs.register({shard: grant}, name)
    await report(url, node_id, *(Led(shard, one.epoch, 50.0, 1, 9.0, 60.0) for shard, one in grants.items()))


async def work_at(url: str, *jobs: str) -> None:
    """A sign of life of a worker that has these jobs."""
    node = Node(NodeId("worker"), "web", 1, plans=False, works=True)
    async with opened(url) as store:
        await store.nodes.beat(node, NodeReport(jobs=tuple(map(JobName, jobs))), 60)


async def report(url: str, node_id: str, *leads: Led) -> None:
    """A sign of life of a planner whose clock is ahead."""
    node = Node(NodeId(node_id), "web", 1, plans=True, works=False)
    async with opened(url) as store:
        await store.nodes.beat(node, NodeReport(skew_s=2.5, leads=leads), 60)


async def beat_an_hour_ahead(url: str, node_id: str) -> None:
    """A sign of life from before the clock of the store was set back."""
    store = await sqlite.open_store(url, clock=VirtualClock(SystemClock().wall() + timedelta(hours=1)))
    await store.nodes.beat(Node(NodeId(node_id), "web", 1, plans=True, works=False), NodeReport(), 60)
    await store.close()


async def line_up(url: str) -> None:
    """Two runs that wait for the limits of their job."""
    job = JobName("limited")
    async with opened(url) as store:
        await store.jobs.register(DEFAULT_NAMESPACE, [JobSpec(job, limit=JobLimit(1))])
        runs = [NewRun(RunKey(f"limited#{number}"), job, {}, DEFAULT_QUEUE, 2) for number in range(2)]
        await store.ledger.enqueue(DEFAULT_NAMESPACE, runs)
        wanted = ClaimRequest(NodeId("w"), (DEFAULT_QUEUE,), (job,), 30.0)
        assert list(await store.ledger.claim_direct(wanted, 5)) == []


def test_status_does_not_hide_who_waits_for_limits(used: str) -> None:
    asyncio.run(line_up(used))
    queue = called_json("status", "--store", used)["queue"]
    assert (queue["ready"], queue["waiting"]) == (0, 2)
    assert queue["oldest_waiting_s"] >= 0
    assert "2 waiting for limits" in called("status", "--store", used)


def test_status_has_the_promised_shape(used: str) -> None:
    status = called_json("status", "--store", used)
    promised = ["shards", "nodes", "workers", "queue", "completeness"]
    assert list(status) == [*promised, "freezes", "gates", "attention", "unserved", "alarms", "leases"]
    assert [shard["shard"] for shard in status["shards"]] == list(range(8))
    assert all(list(one) == SHARD for one in status["shards"])
    assert (status["alarms"], status["leases"]) == ([], {"url": None, "trouble": None})
    ages = {"oldest_ready_s": None, "oldest_waiting_s": None}
    assert status["queue"] == {"ready": 0, "running": 0, "waiting": 0, **ages}


def test_a_schedule_that_no_process_serves_is_said(used: str) -> None:
    called("schedules", "add", "orphan", "--job", "report", "--every", "1h", "--store", used)
    asyncio.run(work_at(used, "other"))
    found = {one["schedule_id"]: one["job"] for one in called_json("status", "--store", used)["unserved"]}
    assert found["orphan"] == "report"
    assert "schedule orphan: no running process has job report" in called("status", "--store", used)


def test_a_process_that_left_cleanly_is_not_counted(used: str) -> None:
    status = called_json("status", "--store", used)
    assert status["nodes"] == status["workers"] == []
    assert "no process is alive" in called("status", "--store", used)


def test_completeness_counts_what_was_due_and_what_has_ended(used: str) -> None:
    found = called_json("status", "--store", used)["completeness"]
    assert (found["due"], found["ended"], found["accounted"]) == (2, 2, 1.0)
    assert (found["expected"], found["succeeded"], found["complete"]) == (2, 1, 0.5)
    assert "last 24h: 1 of 2 ran (50.00%); 100.00% of 2 due ended" in called("status", "--store", used)
    assert found["states"] == {
        **{str(state): 0 for state in RunState if state is not RunState.PLANNED},
        "succeeded": 1,
        "dead": 1,
    }
    called("enqueue", "burn", "--store", used)
    found = called_json("status", "--store", used)["completeness"]
    assert (found["due"], found["ended"]) == (3, 2)


def test_what_needs_a_person_is_said_with_the_command_that_shows_it(used: str) -> None:
    called("freeze", "--label", "team=ops", "--reason", "inventory", "--store", used)
    called("enqueue", "burn", "--key", "later", "--at", "2999-01-01", "--store", used)
    called("runs", "hold", "burn#later", "--store", used)
    status = called_json("status", "--store", used)
    assert status["attention"] == {"dead": 1, "held": 1, "counted_max": 1000}
    assert [(one["kind"], one["value"], one["reason"]) for one in status["freezes"]] == [
        ("label", "team=ops", "inventory")
    ]
    assert status["gates"] == []
    said = called("status", "--store", used)
    assert "frozen: label team=ops, since " in said
    assert "dead: 1 runs; see: fencepost dead list" in said
    assert "held: 1 runs; see: fencepost runs list --held" in said


def test_migrate_sets_a_store_up_once(url: str) -> None:
    assert called_json("migrate", "--store", url)["applied"]
    assert called_json("migrate", "--store", url) == {"applied": []}
    assert called("migrate", "--store", url) == "up to date\n"
    assert called_json("runs", "list", "--store", url) == []


def seconds_since(moment: str) -> float:
    return (SystemClock().wall() - from_utc_text(moment)).total_seconds()


def test_who_leads_is_shown_with_all_that_is_known_of_it(used: str) -> None:
    asyncio.run(take_office(used, "web-1", range(8)))
    status = called_json("status", "--store", used)
    (node,) = status["nodes"]
    assert (node["node_id"], node["leads"], node["running"], node["draining"]) == ("web-1", 8, 0, False)
    for one in status["shards"]:
        assert (one["holder"], one["lineage"], one["renewals_failed"]) == ("web-1", "store", 1)
        assert 0 < one["expires_in_s"] <= 60
        assert 0 < one["trusted_for_s"] <= 50
        assert one["since"].endswith("Z")
        assert one["epoch"] > 0
        assert one["transitions"] > 0
        assert one["ttl_s"] == 60
        assert 8 < seconds_since(one["renewed_at"]) < 60
    said = called("status", "--store", used)
    assert re.search(r"TERM +RENEWED.*\n.* 1m +\d+s ago", said)
    assert "leases: in the store" in said
    assert max(map(len, said.splitlines()[:14])) <= WIDTH_MAX


def test_a_skew_beyond_the_threshold_is_marked_and_an_alarm(
    used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(take_office(used, "web-1", range(8)))
    (alarm,) = called_json("status", "--store", used)["alarms"]
    assert (alarm["kind"], alarm["nodes"], alarm["shards"]) == ("skew", ["web-1"], [])
    said = called("status", "--store", used)
    assert "+2500ms !" in said
    assert f"alarm: {alarm['text']}" in said
    monkeypatch.setenv("FENCEPOST_SKEW_WARNING_S", "3")
    assert called_json("status", "--store", used)["alarms"] == []
    assert "+2500ms  up" in called("status", "--store", used)


def test_a_node_from_the_future_does_not_go_untold(used: str, tmp_path: Path) -> None:
    asyncio.run(beat_an_hour_ahead(used, "web-1"))
    status = called_json("status", "--store", used)
    (alarm,) = status["alarms"]
    assert (alarm["kind"], alarm["nodes"], status["nodes"]) == ("clock", ["web-1"], [])
    assert alarm["text"].startswith("web-1: the last sign of life lies in the future; the clock of the store")
    assert f"alarm: {alarm['text']}" in called("status", "--store", used)
    target = tmp_path / "jobs.toml"
    target.write_text('[jobs.one]\ncommand = ["true"]\n')
    said = called("doctor", str(target), "--only", "dst", "--store", used)
    assert f"warn     fleet      {alarm['text']}" in said


def test_shards_that_stand_alike_share_a_line(used: str) -> None:
    asyncio.run(take_office(used, "web-1", (0, 1, 2, 5)))
    asyncio.run(take_office(used, "web-2", (3,)))
    heading, *rows = called("status", "--store", used).partition("\n\n")[0].splitlines()
    assert heading.split()[:2] == ["SHARD", "HOLDER"]
    shards = [row.partition("  ")[0] for row in rows if not row.startswith("leases: ")]
    assert shards == ["0-2, 5", "3", "4, 6-7"]


def test_shards_without_a_leader_are_an_alarm_while_a_node_plans(used: str) -> None:
    asyncio.run(take_office(used, "web-1", [0, 5]))
    alarm = called_json("status", "--store", used)["alarms"][0]
    assert (alarm["kind"], alarm["shards"]) == ("leaderless", [1, 2, 3, 4, 6, 7])
    assert "alarm: no node leads shards 1-4, 6-7, although 1 node plans" in called("status", "--store", used)


def test_two_who_believe_to_lead_one_shard_are_an_alarm(used: str) -> None:
    asyncio.run(take_office(used, "web-1", range(8)))
    asyncio.run(take_office(used, "web-2", [3], lineage="etcd:other"))
    kinds = [one["kind"] for one in called_json("status", "--store", used)["alarms"]]
    assert kinds == ["skew", "skew"]
    asyncio.run(report(used, "web-1", Led(Shard(3), Epoch(1), 50.0)))
    alarm = called_json("status", "--store", used)["alarms"][0]
    assert (alarm["kind"], alarm["shards"], alarm["nodes"]) == ("rivals", [3], ["web-1", "web-2"])
    said = called("status", "--store", used)
    assert "alarm: web-1 believes to lead shard 3, which web-2 took over; give all nodes the same" in said


def test_a_lease_store_that_is_away_is_one_warning_and_no_reason_to_fail(used: str) -> None:
    asyncio.run(take_office(used, "web-1", range(8), lineage="redis:a"))
    result = call("status", "--leases", AWAY, "--json", "--store", used)
    assert result.exit_code == 0
    (line,) = result.stderr.splitlines()
    assert line.startswith("warning: the lease store did not answer (")
    status = called_json("status", "--leases", AWAY, "--store", used)
    assert {(one["holder"], one["expires_in_s"], one["epoch"]) for one in status["shards"]} == {
        ("web-1", None, 9)
    }
    assert status["leases"]["url"] == "redis://:***@127.0.0.1:1"
    assert "did not answer" in status["leases"]["trouble"]
    human = call("status", "--leases", AWAY, "--store", used)
    assert "unknown" in human.stdout
    assert "leases: redis:a" in human.stdout
    assert "secret" not in result.output + human.output


def test_who_forgets_where_the_leases_live_is_told(used: str) -> None:
    asyncio.run(take_office(used, "web-1", range(8), lineage="redis:a"))
    result = call("status", "--store", used)
    assert result.exit_code == 0
    (line,) = result.stderr.splitlines()
    assert line.startswith("warning: the leases of shards 0-7 are elsewhere (redis:a)")
    assert "give --leases as the nodes have it" in line
    assert "web-1" in result.stdout
