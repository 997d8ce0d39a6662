"""Log lines: what they are about can be read, and what is secret cannot."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from fencepost.telemetry import secrets
from fencepost.telemetry.logs import FIELDS, JsonFormatter, PlainFormatter

KNOWN = "correct horse it's #7"
RUN_KEY = "invoices-eu#2026-11-16T00:00:00Z"


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """These, and none that another test has left."""
    monkeypatch.setattr(secrets, "LIVE", secrets.LiveSecrets())
    for value in (KNOWN, "invoices-eu", "47114711"):
        secrets.remember(value)


def record(event: str, **fields: Any) -> logging.LogRecord:
    made = logging.LogRecord("fencepost.reporter", logging.INFO, "f", 1, event, (), None)
    setattr(made, FIELDS, fields)
    return made


def test_what_a_line_is_about_is_not_struck_out() -> None:
    own = {"run_key": RUN_KEY, "job": "invoices-eu", "schedule": "invoices-eu"}
    line = record("failed", **own, error="no invoices-eu")
    plain = PlainFormatter().format(line)
    assert f"failed run_key={RUN_KEY} job=invoices-eu schedule=invoices-eu " in plain
    assert plain.endswith('error="no ***"')
    told = json.loads(JsonFormatter().format(line))
    assert {name: told[name] for name in own} == own
    assert told["error"] == "no ***"


def test_what_looks_like_a_secret_is_struck_out_even_there() -> None:
    line = record("failed", run_key="send#https://anna:sesame@db/x")
    assert "sesame" not in PlainFormatter().format(line)
    assert "sesame" not in JsonFormatter().format(line)


@pytest.mark.parametrize("told", [KNOWN, f"PASSWORD={KNOWN}", repr(KNOWN), {KNOWN: [KNOWN]}, (KNOWN,)])
def test_no_piece_of_a_known_secret_is_left(told: Any) -> None:
    for formatter in (PlainFormatter(), JsonFormatter()):
        line = formatter.format(record(f"saw {KNOWN}", field=told))
        assert "***" in line
        assert not [piece for piece in ("correct", "horse", "#7") if piece in line]


def test_a_number_that_is_a_secret_leaves_the_line_in_json() -> None:
    told = json.loads(JsonFormatter().format(record("saw", pin=47114711, n=4711, within={"pin": 47114711})))
    assert (told["pin"], told["n"], told["within"]) == ("***", 4711, {"pin": "***"})
    assert PlainFormatter().format(record("saw", pin=47114711, n=4711)).endswith("pin=*** n=4711")


def test_a_traceback_holds_none() -> None:
    line = record("bug")
    error = RuntimeError(f"cannot use {KNOWN} nor Config(password='sesame open it')")
    line.exc_info = (type(error), error, None)
    for formatter in (PlainFormatter(), JsonFormatter()):
        told = formatter.format(line)
        assert "RuntimeError" in told
        assert not [piece for piece in ("horse", "sesame", "open it") if piece in told]
