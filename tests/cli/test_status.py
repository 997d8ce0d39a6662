"""`fencepost status` and `migrate`."""

from fencepost.model.run import RunState
from tests.cli.calls import called, called_json


def test_status_has_the_promised_shape(used: str) -> None:
    status = called_json("status", "--store", used)
    promised = ["shards", "nodes", "workers", "queue", "completeness"]
    assert list(status) == [*promised, "freezes", "gates", "attention"]
    assert [shard["shard"] for shard in status["shards"]] == list(range(8))
    assert all(list(one) == ["shard", "holder", "epoch", "expires_in_s"] for one in status["shards"])
    assert status["queue"] == {"ready": 0, "running": 0, "oldest_ready_s": None}


def test_a_process_that_left_cleanly_is_not_counted(used: str) -> None:
    status = called_json("status", "--store", used)
    assert status["nodes"] == status["workers"] == []
    assert "no process is alive" in called("status", "--store", used)


def test_completeness_counts_what_was_due_and_what_has_ended(used: str) -> None:
    found = called_json("status", "--store", used)["completeness"]
    assert (found["due"], found["ended"], found["accounted"]) == (2, 2, 1.0)
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
