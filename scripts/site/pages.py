"""Which pages the site has, in which order: `docs/README.md` is read as its table of contents.

Each `##` heading is a section, and each item of a list a page. An item that is indented is below the one
before it. A page called `README.md` has below it the pages of its own folder that it links to.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
CONTENTS = "docs/README.md"
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")
SECTION = re.compile(r"^## (.*)$")
ITEM = re.compile(r"^(\s*)- \[([^\]]*)\]\(([^)\s]+)\)")


@dataclass
class Page:
    """One page of the navigation; `path` is from the root of the repository."""

    title: str
    path: str
    below: list[Page] = field(default_factory=list)

    def all(self) -> Iterator[Page]:
        """This page and all below it."""
        yield self
        for page in self.below:
            yield from page.all()


@dataclass
class Section:
    """A heading of the navigation and its pages."""

    title: str
    pages: list[Page] = field(default_factory=list)


def sections() -> list[Section]:
    """The navigation, as `docs/README.md` has it."""
    found: list[Section] = []
    for line in (ROOT / CONTENTS).read_text("utf-8").splitlines():
        if heading := SECTION.match(line):
            found.append(Section(heading[1]))
        elif item := ITEM.match(line):
            page = _page(item[2], resolved(CONTENTS, item[3]))
            (found[-1].pages[-1].below if item[1] else found[-1].pages).append(page)
    return found


def listed() -> list[Page]:
    """Every page of the navigation, in its order."""
    return [one for section in sections() for page in section.pages for one in page.all()]


def resolved(page: str, link: str) -> str:
    """The path from the root that a link of a page leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), link.partition("#")[0]))


def _page(title: str, path: str) -> Page:
    page = Page(title, path)
    if posixpath.basename(path) != "README.md" or not path.startswith("docs/"):
        return page
    folder = posixpath.dirname(path)
    below = {resolved(path, link): name for name, link in LINK.findall((ROOT / path).read_text("utf-8"))}
    for target, name in below.items():
        if target.endswith(".md") and target != path and target.startswith(f"{folder}/"):
            page.below.append(_page(name, target))
    return page
