"""A page, parsed: its elements, and what a browser with our policy would refuse of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

RUN = ("javascript:", "vbscript:", "data:text")


@dataclass
class Element:
    """One element with its attributes."""

    name: str
    attributes: dict[str, str]


@dataclass
class Parsed(HTMLParser):
    """Every element of a page, in order, and the text between script tags."""

    elements: list[Element] = field(default_factory=list)
    inline: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._within = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, {name: value or "" for name, value in attrs}))
        self._within = tag

    def handle_data(self, data: str) -> None:
        if self._within in ("script", "style") and data.strip():
            self.inline.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._within = ""

    def named(self, *names: str) -> list[Element]:
        return [one for one in self.elements if one.name in names]


def parsed(text: str) -> Parsed:
    """The page."""
    found = Parsed()
    found.feed(text)
    return found


def faults(text: str) -> list[str]:
    """What our policy, or whoever cannot see the page, would stumble over."""
    page = parsed(text)
    found = [f"inline: {one[:60]}" for one in page.inline]
    for one in page.elements:
        for name, value in one.attributes.items():
            if name.startswith("on") or name == "style":
                found.append(f"{one.name} has {name}")
            if name in ("href", "src", "action", "formaction") and value.strip().lower().startswith(RUN):
                found.append(f"{one.name} leads to {value[:60]}")
    headings = len(page.named("h1"))
    if headings != 1:
        found.append(f"{headings} h1")
    found += [f"no {name}" for name in ("main", "header", "footer", "title") if not page.named(name)]
    found += [f"{one.name} without alt" for one in page.named("img") if "alt" not in one.attributes]
    found += _unnamed(page)
    ids = [one.attributes["id"] for one in page.elements if "id" in one.attributes]
    found += [f"id {one} twice" for one in set(ids) if ids.count(one) > 1]
    return found


def _unnamed(page: Parsed) -> list[str]:
    """Pictures that say nothing, and links that lead out."""
    silent = [
        "svg without words"
        for one in page.named("svg")
        if not {"aria-label", "aria-hidden", "x", "data-mark"} & one.attributes.keys()
    ]
    out = [
        f"{one.name} leads out: {value[:60]}"
        for one in page.elements
        for name, value in one.attributes.items()
        if name in ("href", "src", "action") and value.strip().startswith(("http:", "https:", "//"))
    ]
    return silent + out


def forms(text: str) -> list[tuple[Element, set[str]]]:
    """Every form of a page, with the names that it sends."""
    found: list[tuple[Element, set[str]]] = []
    for one in parsed(text).elements:
        if one.name == "form":
            found.append((one, set()))
        elif found and one.name in ("input", "textarea", "select", "button") and "name" in one.attributes:
            found[-1][1].add(one.attributes["name"])
    return found


def form_fields(text: str, action: str) -> dict[str, Any]:
    """What a browser would send of a form, but for the token against forgery."""
    fields: dict[str, list[str]] = {}
    elements = parsed(text).elements
    start = next(index for index, one in enumerate(elements) if one.attributes.get("action") == action)
    for one in elements[start + 1 :]:
        if one.name == "form":
            break
        if one.name == "input" and one.attributes.get("name", "csrf") != "csrf":
            fields.setdefault(one.attributes["name"], []).append(one.attributes.get("value", ""))
    return fields
