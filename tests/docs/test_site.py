"""The site has every page, and its build fails on what a reader would trip over."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from inspect import getdoc
from pathlib import Path

import pytest

from fencepost.core.lifecycle import TRANSITIONS
from scripts.site.build import built, loads_from_elsewhere
from scripts.site.inline import take_out_inline
from scripts.site.pages import CONTENTS, ROOT, listed
from scripts.site.python_page import MODULES, reachable, undocumented
from scripts.site.staging import place
from tests.docs.test_pages import UNCLEAR

PICTURES = sorted(ROOT.glob("docs/concepts/*.svg"))
MOVE = re.compile(r'data-move="(\w+)-(\w+)"')
WHOLE = "# Front\n\n[two](two.md#part)\n\n```{toctree}\ntwo\n```\n"
SECOND = "# Two\n\n## Part\n\ntext\n"


def test_every_page_is_in_the_navigation_once() -> None:
    pages = [path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/**/*.md")]
    found = [one.path for one in listed()]
    assert sorted(set(pages) - {CONTENTS}) == sorted(one for one in found if one.startswith("docs/"))
    assert len(found) == len(set(found))


def test_every_page_of_the_navigation_is_there_under_a_place_of_its_own() -> None:
    places = [place(one.path) for one in listed()]
    assert [one.path for one in listed() if not (ROOT / one.path).is_file()] == []
    assert len(places) == len(set(places))


def test_no_public_name_is_without_a_docstring() -> None:
    assert undocumented() == []


def test_no_docstring_of_a_public_name_leaves_open_who_does_what() -> None:
    said = {path: getdoc(value) or "" for name in MODULES for path, value in reachable(import_module(name))}
    assert {path: found for path, text in said.items() if (found := UNCLEAR.findall(text))} == {}


def test_the_page_of_the_python_names_lists_every_public_module() -> None:
    text = (ROOT / "docs" / "reference" / "python.md").read_text("utf-8")
    assert [name for name in MODULES if f"`{name}`" not in text] == []


def test_the_picture_of_the_states_has_every_move_and_no_other() -> None:
    drawn = MOVE.findall((ROOT / "docs" / "concepts" / "states.svg").read_text("utf-8"))
    assert sorted(drawn) == sorted((str(source), str(target)) for source, target in TRANSITIONS)


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.name)
def test_a_picture_says_what_it_shows(picture: Path) -> None:
    text = picture.read_text("utf-8")
    assert 'role="img"' in text
    assert re.search(r'aria-label="[^"]{10,}"', text)


@pytest.mark.parametrize(
    "loaded",
    [
        '<script src="https://cdn.example.org/a.js"></script>',
        '<link rel="stylesheet" href="//fonts.example.org/css">',
        "<img alt='' src='http://example.org/a.png'>",
    ],
)
def test_what_a_page_loads_from_another_host_is_found(tmp_path: Path, loaded: str) -> None:
    (tmp_path / "a.html").write_text(f'<a href="https://example.org">a link</a>{loaded}', "utf-8")
    (tmp_path / "a.css").write_text("a { background: url(../a.png) }", "utf-8")
    assert len(loads_from_elsewhere(tmp_path)) == 1


def test_nothing_inline_is_left_in_a_page(tmp_path: Path) -> None:
    page = tmp_path / "guides" / "a.html"
    page.parent.mkdir()
    page.write_text(
        "<head></head><script>go()</script><style>a{}</style><b style='x'><i style=\"top: 0\">", "utf-8"
    )
    take_out_inline(tmp_path)
    text = page.read_text("utf-8")
    assert "go()" not in text
    assert "<style" not in text
    files = re.findall(r'(?:src|href)="([^"]+)"', text)
    assert len(files) == 3
    assert all((page.parent / one).is_file() for one in files)


def test_a_site_without_a_fault_is_built(tmp_path: Path) -> None:
    assert stage_built(tmp_path, WHOLE, SECOND)
    assert (tmp_path / "site" / "searchindex.js").is_file()


@pytest.mark.parametrize(
    ("front", "second"),
    [
        (WHOLE.replace("two.md#part", "three.md"), SECOND),
        (WHOLE, SECOND.replace("Part", "Other")),
        ("# Front\n", SECOND),
    ],
    ids=["a link to no page", "a link to no heading", "a page outside the navigation"],
)
def test_a_fault_fails_the_build(tmp_path: Path, front: str, second: str) -> None:
    assert not stage_built(tmp_path, front, second)


@pytest.mark.proof
def test_the_whole_site_is_built(tmp_path: Path) -> None:
    """It takes a minute: Sphinx reads every page."""
    subprocess.run([sys.executable, "-m", "scripts.site"], check=True, cwd=ROOT)


def stage_built(folder: Path, front: str, second: str) -> bool:
    stage = folder / "stage"
    stage.mkdir()
    (stage / "index.md").write_text(front, "utf-8")
    (stage / "two.md").write_text(second, "utf-8")
    return built(stage, folder / "site")
