"""`fencepost queues`, and `freeze --queue`."""

from tests.cli.calls import call, called, called_json, refused


def test_a_queue_is_paused_and_resumed_once(used: str) -> None:
    assert called("queues", "pause", "mail", "--reason", "relay down", "--store", used) == (
        "queue mail: paused\n"
    )
    again = call("queues", "pause", "mail", "--store", used)
    assert (again.exit_code, again.stdout) == (1, "queue mail: was paused already\n")
    (line,) = [one for one in called_json("queues", "list", "--store", used) if one["queue"] == "mail"]
    assert (line["paused"], line["reason"], line["ready"]) == (True, "relay down", 0)
    assert "paused by" in called("queues", "list", "--store", used)
    assert called("queues", "resume", "mail", "--store", used) == "queue mail: goes on\n"
    assert call("queues", "resume", "mail", "--store", used).exit_code == 1


def test_a_freeze_of_a_queue_is_its_pause(used: str) -> None:
    assert called("freeze", "--queue", "mail", "--store", used).startswith("frozen: queue mail")
    assert call("queues", "pause", "mail", "--store", used).exit_code == 1
    assert called("thaw", "--queue", "mail", "--store", used).startswith("thawed: queue mail")


def test_one_scope_at_a_time(used: str) -> None:
    said = refused("freeze", "--queue", "mail", "--all", "--store", used)
    assert "give one of --schedule, --label, --queue and --all" in said
