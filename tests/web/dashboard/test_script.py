"""The dashboard's script: small, by hand, and without a way for data to become markup or code."""

import re
from importlib.resources import files

import pytest

STATIC = files("fencepost.web.dashboard").joinpath("static")
SCRIPTS = {one.name: one.read_text("utf-8") for one in STATIC.iterdir() if one.name.endswith(".js")}
SCRIPT = "\n".join(SCRIPTS.values())
LINES_MAX = 400
FORBIDDEN = {
    "markup from data": r"innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|setHTML",
    "code from data": r"\beval\b|new Function|document\.write|setTimeout\(\s*[\"'`]|javascript:",
    "another origin": r"https?:|(?<![:\w])//(?=\w)(?! )[\w.-]+\.\w{2,}/|import\s*\(|importScripts",
    "handlers or styles in attributes": r"setAttribute\(\s*[\"'](on|style)|\.on[a-z]+\s*=|\.style\b",
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_it_has_no_way_to(what: str) -> None:
    assert re.findall(FORBIDDEN[what], SCRIPT) == []


@pytest.mark.parametrize(
    ("what", "planted"),
    [
        ("markup from data", "row.innerHTML = run.error;"),
        ("code from data", 'setTimeout("go()", 1);'),
        ("another origin", 'fetch("https://example.org/x");'),
        ("handlers or styles in attributes", "button.onclick = run.error;"),
    ],
)
def test_it_would_be_noticed(what: str, planted: str) -> None:
    assert re.findall(FORBIDDEN[what], planted)


def test_it_can_be_read_at_a_sitting() -> None:
    for script in SCRIPTS.values():
        lines = script.splitlines()
        assert len(lines) < LINES_MAX
        assert max(map(len, lines)) <= 130
