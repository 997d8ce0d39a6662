"""`fencepost leases` and `fencepost whoami`."""

from __future__ import annotations

import asyncio

import pytest

from fencepost.config import settings_from
from fencepost.model.identifiers import Epoch, Lineage, NodeId, Shard
from fencepost.model.lease import Granted
from fencepost.wiring import open_store
from tests.cli.calls import call, called, called_json


async def lead(url: str) -> None:
    """web-1 led shards 0 and 3; web-2 took 3 over, and a write of web-1 came too late."""
    store = await open_store(settings_from({}, overrides={"store": url}))
    try:
        for epoch, (name, shards) in enumerate({"web-1": (0, 3), "web-2": (3,)}.items(), 10):
            for shard in shards:
                grant = {Shard(shard): Granted(Epoch(epoch), Lineage("etcd:a"))}
                await store.epochs.register(grant, NodeId(name))
        await store.epochs.note_refusal(Shard(3), Epoch(10), NodeId("web-1"))
    finally:
        await store.close()


def test_who_led_when_is_shown_with_what_was_refused(used: str) -> None:
    asyncio.run(lead(used))
    found = called_json("leases", "--shard", "3", "--limit", "2", "--store", used)
    assert [*found] == ["shards", "terms", "refusals", "leases"]
    assert [one["shard"] for one in found["shards"]] == list(range(8))
    assert [(one["holder"], one["until"] is None) for one in found["terms"]] == [
        ("web-2", True),
        ("web-1", False),
    ]
    (late,) = found["refusals"]
    assert (late["shard"], late["holder"], late["known_holder"]) == (3, "web-1", "web-2")
    assert found["leases"]["url"] is None
    said = called("leases", "--tz", "UTC", "--store", used)
    assert "LED BY" in said
    assert "etcd:a" in said
    assert said.splitlines()[-1].split()[-4:] == ["web-1", "10", "web-2", "11"]


def test_a_store_whose_leaders_were_never_late_says_so(used: str) -> None:
    assert "no write of a former leader was refused" in called("leases", "--store", used)


def test_a_lease_store_that_is_away_hides_nothing_of_the_past(used: str) -> None:
    asyncio.run(lead(used))
    result = call("leases", "--leases", "redis://:hunter2@127.0.0.1:1", "--store", used)
    assert result.exit_code == 0
    assert "the lease store did not answer" in result.stderr
    assert "hunter2" not in result.output
    assert "web-2" in result.stdout


def test_at_the_store_itself_one_may_do_anything(used: str) -> None:
    found = call("whoami", "--json", "--store", used, FENCEPOST_ACTOR="anna")
    assert '"name": "anna"' in found.stdout
    assert "the store itself" in called("whoami", "--store", used)


def test_weights_are_listed_where_they_are_set(used: str, monkeypatch: pytest.MonkeyPatch) -> None:
    called("queues", "pause", "mail", "--store", used)
    assert "weight" not in called("queues", "list", "--store", used)
    monkeypatch.setenv("FENCEPOST_QUEUES", "mail:3,default:1")
    heading, line = called("queues", "list", "--store", used).splitlines()
    assert dict(zip(heading.split(), line.split(), strict=False))["weight"] == "3"
    (shown,) = called_json("queues", "list", "--store", used)
    assert shown["weight"] == 3
