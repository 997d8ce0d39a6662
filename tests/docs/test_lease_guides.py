"""The pages about leases say what is so."""

from __future__ import annotations

import re
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from examples.lease_store.folder import FolderLeases
from fencepost import wiring
from fencepost.config import settings_from
from fencepost.errors import InvalidSettings
from fencepost.stores.memory import MemoryStore
from fencepost.testing.clock import VirtualClock

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/guides/writing-a-lease-store.md").read_text("utf-8")
EXAMPLE = [
    (ROOT / "examples/lease_store" / name).read_text("utf-8") for name in ("folder.py", "test_folder.py")
]


def blocks(language: str) -> list[str]:
    """The code of the page."""
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)


@pytest.mark.parametrize("code", blocks("python"))
def test_the_page_shows_no_code_but_the_examples(code: str) -> None:
    assert any(code in text for text in EXAMPLE), code


def test_every_call_of_the_protocol_is_on_the_page() -> None:
    port = (ROOT / "src/fencepost/ports/leases.py").read_text("utf-8")
    for name in re.findall(r"    (?:async )?def (\w+)\(", port):
        assert f"`{name}" in GUIDE, name


async def test_a_lease_store_of_ones_own_is_found_by_its_scheme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = EntryPoint("folder", "examples.lease_store.folder:open_leases", wiring.LEASE_ENTRY_POINTS)

    def entry_points(*, group: str, name: str) -> list[EntryPoint]:
        return [point] if (group, name) == (point.group, point.name) else []

    monkeypatch.setattr(wiring, "entry_points", entry_points)
    store = MemoryStore(VirtualClock())
    settings = settings_from({}, overrides={"leases": f"folder://{tmp_path}"})
    assert isinstance(await wiring.open_leases(settings, store), FolderLeases)
    assert await wiring.open_leases(settings_from({}), store) is store.leases
    missing = settings_from({}, overrides={"leases": f"folder://{tmp_path}/missing"})
    with pytest.raises(InvalidSettings, match="mkdir"):
        await wiring.open_leases(missing, store)


@pytest.mark.parametrize("url", ["zookeeper://user:secret@host", "nonsense", "://"])
async def test_an_unknown_scheme_is_refused_without_its_password(url: str) -> None:
    settings = settings_from({}, overrides={"leases": url})
    with pytest.raises(InvalidSettings, match="expected etcd://") as refusal:
        await wiring.open_leases(settings, MemoryStore(VirtualClock()))
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("kind", sorted(set(wiring.LEASE_SCHEMES.values())))
def test_every_lease_store_has_its_page(kind: str) -> None:
    page = (ROOT / f"docs/guides/leases/{kind}.md").read_text("utf-8")
    for scheme in (one for one, of in wiring.LEASE_SCHEMES.items() if of == kind):
        assert f"{scheme}://" in page, scheme
