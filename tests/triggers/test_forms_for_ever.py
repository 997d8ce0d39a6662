"""Forms that are in somebody's ledger: each must be read as it was meant, in every later release.

Add to this list; change nothing in it.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from fencepost.model.json import JsonObject
from fencepost.triggers import decode
from fencepost.triggers.business.calendar import Calendar
from fencepost.triggers.codec import DECODERS
from fencepost.triggers.series import Binding

NOW = datetime(2026, 3, 27, 12, tzinfo=UTC)
BOUND = Binding("invoices", {"de": Calendar("de", holidays=["2026-03-30"], revision=1)})
CRON: JsonObject = {
    "v": 1,
    "kind": "cron",
    "expression": "30 2 * * *",
    "tz": "Europe/Berlin",
    "gap": None,
    "fold": None,
}
EVERY: JsonObject = {"v": 1, "kind": "every", "interval": "1h", "anchor": "1970-01-01T00:00:00Z"}

FORMS: list[tuple[JsonObject, list[str]]] = [
    (CRON, ["2026-03-28T01:30", "2026-03-29T01:00"]),
    (
        {"v": 1, "kind": "cron", "expression": "H H * * *", "tz": "UTC", "gap": "skip", "fold": "last"},
        ["2026-03-28T05:01", "2026-03-29T05:01"],
    ),
    (
        {
            "v": 1,
            "kind": "cron",
            "expression": "H * * * *",
            "tz": "UTC",
            "gap": None,
            "fold": None,
            "seed": "a",
        },
        ["2026-03-27T12:21", "2026-03-27T13:21"],
    ),
    (EVERY, ["2026-03-27T13:00", "2026-03-27T14:00"]),
    (
        {
            "v": 1,
            "kind": "every",
            "interval": "1 month",
            "anchor": "2026-01-31T09:00:00",
            "tz": "Europe/Berlin",
            "gap": None,
            "fold": None,
            "jitter": "5m",
        },
        ["2026-03-31T07:00", "2026-04-30T07:00"],
    ),
    ({"v": 1, "kind": "at", "times": ["2026-04-01T00:00:00Z"]}, ["2026-04-01T00:00"]),
    (
        {
            "v": 1,
            "kind": "rrule",
            "rule": "FREQ=MONTHLY;BYDAY=-1FR",
            "start": "2026-01-01T09:00:00",
            "tz": "Europe/Berlin",
            "exclude": ["2026-04-24T09:00:00"],
            "include": [],
            "gap": None,
            "fold": None,
        },
        ["2026-05-29T07:00", "2026-06-26T07:00"],
    ),
    (
        {"v": 1, "kind": "solar", "event": "sunset", "latitude": 52.52, "longitude": 13.41, "offset": "-30m"},
        ["2026-03-27T17:02", "2026-03-28T17:04"],
    ),
    (
        {
            "v": 1,
            "kind": "business_day",
            "calendar": {"name": "de"},
            "nth": -1,
            "at": ["18:00"],
            "tz": "Europe/Berlin",
            "months": None,
            "gap": None,
            "fold": None,
        },
        ["2026-03-31T16:00", "2026-04-30T16:00"],
    ),
    (
        {
            "v": 1,
            "kind": "business_shift",
            "of": {
                "v": 1,
                "kind": "cron",
                "expression": "0 9 28 3 *",
                "tz": "UTC",
                "gap": None,
                "fold": None,
            },
            "calendar": {"name": "de"},
            "otherwise": "next",
        },
        ["2026-03-31T09:00", "2027-03-29T09:00"],
    ),
    ({"v": 1, "kind": "union", "of": [CRON, EVERY]}, ["2026-03-27T13:00", "2026-03-27T14:00"]),
    ({"v": 1, "kind": "intersection", "of": [CRON, EVERY]}, ["2026-03-29T01:00", "2027-03-28T01:00"]),
    ({"v": 1, "kind": "difference", "of": CRON, "without": EVERY}, ["2026-03-28T01:30", "2026-03-30T00:30"]),
    (
        {"v": 1, "kind": "between", "of": EVERY, "start": "2026-04-01T00:00:00Z", "end": None},
        ["2026-04-01T00:00", "2026-04-01T01:00"],
    ),
    (
        {
            "v": 1,
            "kind": "limit",
            "of": {"v": 1, "kind": "between", "of": EVERY, "start": "2026-04-01T00:00:00Z", "end": None},
            "count": 1,
        },
        ["2026-04-01T00:00"],
    ),
    ({"v": 1, "kind": "outside", "of": EVERY, "opens": CRON, "lasts": "2d"}, []),
]
NAMES = [f"{form['kind']}-{number}" for number, (form, _) in enumerate(FORMS)]


@pytest.mark.parametrize(("form", "expected"), FORMS, ids=NAMES)
def test_a_form_of_the_ledger_fires_as_it_did(form: JsonObject, expected: list[str]) -> None:
    trigger = decode(json.loads(json.dumps(form))).bound(BOUND)
    found = [one.isoformat()[:16] for one in trigger.fire_times(NOW, datetime(2027, 4, 1, tzinfo=UTC))]
    assert found[:2] == expected


@pytest.mark.parametrize("form", [form for form, _ in FORMS], ids=NAMES)
def test_a_form_is_written_as_it_was_read(form: JsonObject) -> None:
    assert decode(json.loads(json.dumps(form))).to_json() == form


def test_every_kind_and_version_is_remembered_here() -> None:
    kept = {(form["kind"], form["v"]) for form, _ in FORMS}
    assert kept == {(kind, version) for kind, versions in DECODERS.items() for version in versions}
