"""Settings: where they come from, which of two wins, and what is refused before anything starts."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost.config import DEFAULT_STORE, Settings, changed_settings, settings_from
from fencepost.errors import InvalidSettings, UsageError


def test_without_anything_the_defaults_hold() -> None:
    assert settings_from({}) == Settings()
    assert settings_from({}).store == DEFAULT_STORE


def test_the_file_gives_way_to_the_environment_and_that_to_the_caller() -> None:
    file = {"concurrency": 1, "poll_s": 1, "shards": 1}
    environment = {"FENCEPOST_CONCURRENCY": "2", "FENCEPOST_POLL_S": "2"}
    settings = settings_from(environment, file, {"concurrency": 3, "poll_s": None})
    assert (settings.concurrency, settings.poll_s, settings.shards) == (3, 2.0, 1)


def test_a_place_in_the_environment_wins_over_the_file_too() -> None:
    file = {"broker": "nats://file", "leases": "etcd://file"}
    settings = settings_from({"FENCEPOST_BROKER": "amqp://environment"}, file)
    assert (settings.broker, settings.leases) == ("amqp://environment", "etcd://file")
    assert settings_from(
        {"FENCEPOST_BROKER": "amqp://environment"}, file, {"broker": "redis://call"}
    ).broker == ("redis://call")


def test_the_environment_of_the_process_is_read_where_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCEPOST_CONCURRENCY", "7")
    assert settings_from().concurrency == 7
    assert settings_from({}).concurrency == Settings().concurrency


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("horizon_s", "2m", 120.0),
        ("horizon_s", "90", 90.0),
        ("horizon_s", "90.5", 90.5),
        ("horizon_s", 91, 91.0),
        ("retention_s", "7d", 604_800.0),
        ("concurrency", "8", 8),
        ("queues", "mail, reports", ("mail", "reports")),
        ("queues", ["mail"], ("mail",)),
        ("store", "sqlite:///x.db", "sqlite:///x.db"),
        ("namespace", "tenant", "tenant"),
        ("metrics_open", "yes", True),
        ("metrics_open", "FALSE", False),
        ("metrics_open", True, True),
        ("completeness_target", "0.99", 0.99),
    ],
)
def test_a_value_is_read_in_the_settings_own_type(name: str, value: Any, expected: Any) -> None:
    settings = settings_from({}, {name: value})
    found = getattr(settings, name)
    assert (found, type(found)) == (expected, type(expected))


def test_the_environment_takes_lengths_of_time_too() -> None:
    assert settings_from({"FENCEPOST_GRACE_S": "1m30s"}).grace_s == 90.0


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"concurency": 3}, "unknown setting 'concurency'; did you mean concurrency?"),
    ({"horizon": 3}, "unknown setting 'horizon'; did you mean horizon_s?"),
    ({"zzz": 3}, "unknown setting 'zzz'; known: store, leases, broker, namespace"),
    ({"lease_terms": 3}, "unknown setting 'lease_terms'"),
    ({"concurrency": "many"}, "concurrency = 'many': expected a whole number"),
    ({"concurrency": 2.5}, "concurrency = 2.5: expected a whole number"),
    ({"concurrency": True}, "concurrency = True: expected a whole number"),
    ({"concurrency": 0}, "concurrency 0: expected more than 0"),
    ({"concurrency": "-1"}, "concurrency -1: expected more than 0"),
    ({"poll_s": "soon"}, "poll_s = 'soon': "),
    ({"metrics_open": "perhaps"}, "metrics_open = 'perhaps': expected true or false"),
    ({"completeness_target": 1}, "completeness_target 1: expected less than 1, such as 0.999"),
    ({"metrics_jobs_max": 0}, "metrics_jobs_max 0: expected more than 0"),
    ({"poll_s": "nan"}, "poll_s = 'nan': "),
    ({"poll_s": "inf"}, "poll_s = 'inf': "),
    ({"poll_s": -1}, "poll_s = -1: "),
    ({"poll_s": 0}, "poll_s 0: expected more than 0"),
    ({"queues": 3}, "queues = 3: "),
    ({"queues": ""}, "queue '': expected 1 to 200 letters"),
    ({"queues": "a b"}, "queue 'a b': expected 1 to 200 letters"),
    ({"namespace": "a b"}, "namespace 'a b': expected 1 to 200 letters"),
    ({"horizon_s": 18}, "horizon_s 18 must exceed a takeover plus one planning pass (19.8)"),
    ({"plan_every_s": 60}, "horizon_s 60 must exceed"),
    ({"lease_ttl_s": 60, "lease_margin_s": 3}, "horizon_s 60 must exceed"),
    ({"heartbeat_timeout_s": 9.9}, "heartbeat_timeout_s 9.9 must be at least twice heartbeat_every_s 5"),
    ({"plan_ticks_max": 5001}, "plan_ticks_max must not exceed plan_runs_max"),
    ({"lease_renew_deadline_s": 8}, "lease settings: renew_deadline_s 8 must be at most 2/3 of ttl_s 10"),
    ({"lease_margin_s": 0.5}, "lease settings: margin_s 0.5 must be at least 1"),
    ({"lease_retry_period_s": 5}, "lease settings: renew_deadline_s 6 must exceed"),
]


@pytest.mark.parametrize(("values", "complaint"), REFUSED, ids=str)
@pytest.mark.parametrize("source", ["file", "overrides"])
def test_refused_in_one_line(values: dict[str, Any], complaint: str, source: str) -> None:
    with pytest.raises(UsageError) as caught:
        settings_from({}, values) if source == "file" else settings_from({}, None, values)
    assert str(caught.value).startswith(complaint)
    assert "\n" not in str(caught.value)


def test_a_bad_variable_is_named_in_full() -> None:
    with pytest.raises(InvalidSettings, match=r"^FENCEPOST_SHARDS = 'two': expected a whole number"):
        settings_from({"FENCEPOST_SHARDS": "two"})


def test_the_terms_of_the_lease_are_the_settings() -> None:
    terms = settings_from({}, {"lease_ttl_s": 20, "lease_margin_s": 2}).lease_terms
    assert (terms.ttl_s, terms.margin_s, terms.renew_deadline_s) == (20, 2, 6)


def test_a_change_is_checked_like_a_start() -> None:
    settings = settings_from({}, {"concurrency": 3})
    changed = changed_settings(settings, {"poll_s": "2s", "shards": None})
    assert (changed.concurrency, changed.poll_s, changed.shards) == (3, 2.0, 8)
    with pytest.raises(InvalidSettings, match="horizon_s 5 must exceed"):
        changed_settings(settings, {"horizon_s": 5})
    with pytest.raises(InvalidSettings, match="did you mean poll_s"):
        changed_settings(settings, {"poll": 5})


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("STOER", "STORE"),
        ("HORIZON", "HORIZON_S"),
        ("LEASE_TTL", "LEASE_TTL_S"),
        ("QUEUE", "QUEUES"),
        ("LOGLEVEL", "LOG_LEVEL"),
        ("TOKENS", "TOKEN"),
        ("STORE_URL", "STORE"),
        ("NODE_NAME", "NODE"),
        ("DATABASE_URL", "STORE"),
    ],
)
def test_a_variable_that_was_meant_to_be_ours_is_refused(name: str, meant: str) -> None:
    with pytest.raises(InvalidSettings) as refusal:
        settings_from({f"FENCEPOST_{name}": "s3cret"})
    assert str(refusal.value) == f"unknown variable FENCEPOST_{name}; did you mean FENCEPOST_{meant}?"


@pytest.mark.parametrize("name", ["", "XYZ", "DRILL_STORE", "PAYMENTS", "TEST", "store"])
def test_a_variable_that_resembles_none_of_ours_is_not_let_through(name: str) -> None:
    with pytest.raises(InvalidSettings) as refusal:
        settings_from({f"FENCEPOST_{name}": "s3cret", "FENCE": "x", "fencepost_store": "x"})
    told = str(refusal.value)
    assert told.startswith(f"unknown variable FENCEPOST_{name}; ")
    assert ("did you mean FENCEPOST_" in told) != ("docs/reference/settings.md" in told)
    assert "s3cret" not in told
    assert "\n" not in told


@pytest.mark.parametrize(
    "name",
    [
        *("RUN_KEY", "SCHEDULE", "JOB", "FIRE_TIME", "ATTEMPT", "FENCE", "PAYLOAD", "AFTER"),
        *("ACTOR", "SERVER", "LOG_LEVEL", "LOG_JSON", "TLS_CERT", "TLS_KEY", "TEST_POSTGRES", "TEST_DRILL"),
        *("SERVICE_HOST", "SERVICE_PORT", "PORT", "PORT_8580_TCP_ADDR", "WEB_SERVICE_HOST"),
        *("STORE_PORT", "STORE_SERVICE_HOST", "STORE_SERVICE_PORT_SQL"),
    ],
)
def test_what_jobs_tests_and_platforms_set_is_left_alone(name: str) -> None:
    assert settings_from({f"FENCEPOST_{name}": "x"}) == Settings()


@pytest.mark.parametrize("name", ["two words", "-x", "a" * 65, "outside:x", "a/b"])
def test_a_node_has_a_plain_name(name: str) -> None:
    with pytest.raises(InvalidSettings, match="expected up to 64 letters"):
        Settings(node=name)


def test_a_public_url_is_an_address() -> None:
    with pytest.raises(InvalidSettings, match="public_url 'cron': expected an address"):
        settings_from({}, overrides={"public_url": "cron"})
