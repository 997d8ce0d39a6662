"""The stable JSON forms: written once, read for ever."""

from __future__ import annotations

import json

import pytest

from fencepost.errors import InvalidTrigger
from fencepost.model.json import JsonObject, JsonValue
from fencepost.model.trigger import Trigger
from fencepost.triggers import At, Cron, Every, decode
from fencepost.triggers.codec import DECODERS

FORMS: list[tuple[Trigger, JsonObject]] = [
    (
        Cron("0 0 1 * *", tz="Europe/Berlin"),
        {
            "v": 1,
            "kind": "cron",
            "expression": "0 0 1 * *",
            "tz": "Europe/Berlin",
            "gap": None,
            "fold": None,
        },
    ),
    (
        Cron("@daily", gap="skip", fold="last"),
        {
            "v": 1,
            "kind": "cron",
            "expression": "@daily",
            "tz": "UTC",
            "gap": "skip",
            "fold": "last",
        },
    ),
    (
        Every("90m"),
        {"v": 1, "kind": "every", "interval": "1h30m", "anchor": "1970-01-01T00:00:00Z"},
    ),
    (
        Every(0.123457, "2026-01-01T00:00:00.5Z"),
        {
            "v": 1,
            "kind": "every",
            "interval": "123.457ms",
            "anchor": "2026-01-01T00:00:00.500000Z",
        },
    ),
    (
        At(["2026-12-24T18:00:00", "2026-01-01T00:00:00"], tz="Europe/Berlin"),
        {"v": 1, "kind": "at", "times": ["2025-12-31T23:00:00Z", "2026-12-24T17:00:00Z"]},
    ),
]


@pytest.mark.parametrize(("trigger", "form"), FORMS)
def test_the_form_is_fixed_and_leads_back(trigger: Trigger, form: JsonObject) -> None:
    assert trigger.to_json() == form
    assert decode(json.loads(json.dumps(form))) == trigger


CRON: JsonObject = {"v": 1, "kind": "cron", "expression": "0 0 * * *", "tz": "UTC"}
EVERY: JsonObject = {"v": 1, "kind": "every", "interval": "1h"}

KINDS = f"expected one of {', '.join(DECODERS)}"

REFUSED: list[tuple[JsonValue, str]] = [
    ([], "trigger []: expected an object with v and kind"),
    ({}, f"trigger kind None is unknown, {KINDS}"),
    ({"v": 1, "kind": "os.system"}, f'trigger kind "os.system" is unknown, {KINDS}'),
    ({"v": 1, "kind": ["cron"]}, f"trigger kind ['cron'] is unknown, {KINDS}"),
    ({**CRON, "v": 2}, "cron trigger version 2 is unknown, expected 1"),
    ({**CRON, "v": True}, "cron trigger version True is unknown, expected 1"),
    ({**CRON, "expression": 5}, "cron trigger: expression is 5, expected a text"),
    ({**CRON, "zone": "UTC"}, 'cron trigger: "zone" is unknown'),
    ({**CRON, "gap": "jump"}, 'gap "jump" is unknown, expected shift or skip'),
    ({**EVERY, "interval": None}, "every trigger: interval is None, expected a text"),
    ({**EVERY, "anchor": 0}, "every trigger: anchor is 0, expected a text"),
    ({"v": 1, "kind": "at", "times": "now"}, 'at trigger: times is "now", expected a list of texts'),
    ({"v": 1, "kind": "at", "times": [1]}, "at trigger: times is [1], expected a list of texts"),
    ({"v": 1, "kind": "at"}, "at trigger: times is None, expected a list of texts"),
]


@pytest.mark.parametrize(("data", "message"), REFUSED)
def test_an_unknown_form_is_refused(data: JsonValue, message: str) -> None:
    with pytest.raises(InvalidTrigger) as refusal:
        decode(data)
    assert str(refusal.value) == message
