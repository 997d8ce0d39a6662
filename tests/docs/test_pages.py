"""Every link of a page leads to a page or heading that exists, and pages in plain words stay so."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])
CODE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(\s*([^)\s]+)\s*\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
UNCLEAR = re.compile(r"\b(?:somebody|nobody|anybody|whoever|whatever|so many)\b", re.IGNORECASE)
DOCS = ROOT / "docs"
FOLDERS = ("compare", "concepts", "guides")
PLAIN = sorted(
    {
        ROOT / "README.md",
        *DOCS.glob("*.md"),
        *(page for name in FOLDERS for page in (DOCS / name).rglob("*.md")),
    }
)


@cache
def prose(page: Path) -> str:
    """What a page says outside of its code."""
    return CODE.sub("", page.read_text("utf-8"))


def anchor(heading: str) -> str:
    """What a heading is called in links, by the rule of the forges."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def leads_nowhere(page: Path, link: str) -> bool:
    """Whether a link of the page names no file, or no heading of it."""
    path, _, part = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists():
        return True
    return bool(part) and part not in {anchor(one) for one in HEADING.findall(prose(target))}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_link_leads_nowhere(page: Path) -> None:
    links = [one for one in LINK.findall(prose(page)) if "://" not in one]
    assert [one for one in links if leads_nowhere(page, one)] == []


@pytest.mark.parametrize("page", PLAIN, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_leaves_open_who_does_what(page: Path) -> None:
    assert UNCLEAR.findall(prose(page)) == []
