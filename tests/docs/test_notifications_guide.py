"""The page on notifications says what the code does: examples are accepted, and tables are complete."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from fencepost import Fencepost
from fencepost.config import settings_from
from fencepost.core.notifying import SHOWN_MAX, notification
from fencepost.manifest.file import load_file
from fencepost.model.identifiers import DEFAULT_NAMESPACE
from fencepost.model.notification import Event, Item, TargetKind
from fencepost.model.times import from_utc_text
from fencepost.services.notifier import RUNS_MAX

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "notifications.md"
TEXT = PAGE.read_text("utf-8")


def block(language: str) -> str:
    """The one example in a language."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    return str(found)


def test_the_functions_are_accepted() -> None:
    found: dict[str, Any] = {}
    exec(block("python"), found)
    app = found["app"]
    assert isinstance(app, Fencepost)
    targets = app.code_targets
    assert (targets["page_somebody"].jobs, targets["page_somebody"].parameter) == (("invoices",), "notice")
    assert targets["write_down"].events == (Event.GATE_CLOSED, Event.STUCK, Event.RECOVERED)


def test_the_file_is_accepted(tmp_path: Path) -> None:
    file = tmp_path / "fencepost.toml"
    file.write_text(block("toml"), "utf-8")
    targets = load_file(file, {}).code_targets
    assert {one.kind for one in targets.values()} == set(TargetKind) - {TargetKind.HOOK}


def test_every_event_is_in_the_table() -> None:
    table = TEXT.split("## Events")[1].split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [str(one) for one in Event]


def test_the_message_is_what_is_sent() -> None:
    shown = json.loads(block("json"))
    (item,) = shown["items"]
    moment = from_utc_text(item["at"])
    one = Item(Event.DEAD, item["subject"], moment, item["words"], item["job"], item["schedule"])
    last = Item(Event.DEAD, item["subject"], from_utc_text(shown["last_at"]), "", item["job"])
    made = notification(DEFAULT_NAMESPACE, Event.DEAD, [one] * 999 + [last], "https://cron.example.org")
    assert {**made, "items": made["items"][:1]} == shown
    assert len(made["items"]) == SHOWN_MAX == 10
    assert f"at most {RUNS_MAX:,} runs" in TEXT


def test_the_settings_have_the_defaults_of_the_page() -> None:
    settings = settings_from({})
    for name, said in re.findall(r"^\| `(notify_\w+)` \| (\d+) \|", TEXT, re.MULTILINE):
        assert getattr(settings, name) == float(said)
