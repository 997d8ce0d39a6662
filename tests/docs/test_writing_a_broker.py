"""The page about writing a broker says what is so."""

from __future__ import annotations

import re
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from examples.broker.folder import FolderBroker
from fencepost import wiring
from fencepost.config import settings_from
from fencepost.errors import InvalidSettings

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/guides/writing-a-broker.md").read_text("utf-8")
EXAMPLE = [(ROOT / "examples/broker" / name).read_text("utf-8") for name in ("folder.py", "test_folder.py")]


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL))
def test_the_page_shows_no_code_but_the_examples(code: str) -> None:
    assert any(code in text for text in EXAMPLE), code


def test_no_call_of_the_protocols_is_missing() -> None:
    port = (ROOT / "src/fencepost/ports/broker.py").read_text("utf-8")
    for name in re.findall(r"    (?:async )?def (\w+)\(", port):
        assert f"`{name}" in GUIDE, name


async def test_a_broker_of_ones_own_is_found_by_its_scheme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = EntryPoint("folder", "examples.broker.folder:open_broker", wiring.BROKER_ENTRY_POINTS)

    def entry_points(*, group: str, name: str) -> list[EntryPoint]:
        return [point] if (group, name) == (point.group, point.name) else []

    monkeypatch.setattr(wiring, "entry_points", entry_points)
    settings = settings_from({}, overrides={"broker": f"folder://{tmp_path}"})
    assert isinstance(await wiring.open_broker(settings), FolderBroker)
    with pytest.raises(InvalidSettings, match="expected amqp://host"):
        await wiring.open_broker(settings_from({}, overrides={"broker": "files:///x"}))


@pytest.mark.parametrize("kind", sorted(set(wiring.BROKER_SCHEMES.values())))
def test_every_broker_has_its_page(kind: str) -> None:
    page = (ROOT / f"docs/guides/brokers/{kind}.md").read_text("utf-8")
    for scheme in (one for one, of in wiring.BROKER_SCHEMES.items() if of == kind):
        assert f"{scheme}://" in page, scheme
