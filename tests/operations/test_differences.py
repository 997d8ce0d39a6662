"""Two specs beside each other, as people read it."""

from fencepost.operations.differences import differences


def test_each_value_that_differs_is_a_line() -> None:
    before = {"trigger": {"kind": "every", "interval": "5m"}, "job": "report"}
    after = {"trigger": {"kind": "every", "interval": "10m"}, "job": "report"}
    assert differences(before, after) == ['trigger.interval: "5m" -> "10m"']


def test_what_is_null_is_not_there() -> None:
    before = {"trigger": {"gap": None}, "spread": None}
    assert differences(before, {"trigger": {}, "spread": "1m"}) == ['spread: nothing -> "1m"']


def test_a_null_of_a_payload_is_somebodys_own() -> None:
    assert differences({"payload": {"until": None}}, {"payload": {}}) == ["payload.until: null -> nothing"]


def test_a_secret_is_said_to_have_changed_and_not_to_what() -> None:
    (line,) = differences({"payload": {"password": "first-one"}}, {"payload": {"password": "second-one"}})
    assert line.startswith("payload.password: ")
    assert "first" not in line
    assert "second" not in line
