"""Stages the pages for Sphinx in `build/docs`: one text reads well on a code forge and on the site.

A page under `docs/` keeps its place. A page or file elsewhere in the repository goes below `project/`. Links
are written anew for these places. A code file that a page links to becomes a page of its own. A diagram is
put into the page itself, so that it takes the colours of the theme.
"""

from __future__ import annotations

import posixpath
import re
import shutil

from scripts.site.pages import CONTENTS, ROOT, Page, resolved, sections
from scripts.site.python_page import PYTHON_PAGE, python_pages

STAGE = ROOT / "build" / "docs"
FENCED = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)
LINKED = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
MERMAID = re.compile(r"^```mermaid\n.*?^```$", re.MULTILINE | re.DOTALL)
DIAGRAM = 'class="fd"'
SHOWN = ("docs/", "examples/", "benchmarks")
"""Other folders are named on the site, and only the repository has them."""
LANGUAGES = {
    ".cfg": "text", ".go": "go", ".lua": "lua", ".mjs": "js", ".py": "python", ".sh": "sh", ".sql": "sql",
    ".tla": "text", ".toml": "toml", ".yaml": "yaml", ".yml": "yaml",
}  # fmt: skip


class Staging:
    """The pages that are staged, and those that their links ask for."""

    def __init__(self) -> None:
        self.waiting: list[str] = []
        self.staged: set[str] = set()

    def run(self) -> None:
        """Stage everything into an empty folder."""
        shutil.rmtree(STAGE, ignore_errors=True)
        STAGE.mkdir(parents=True)
        below = {
            page.path: page.below for section in sections() for top in section.pages for page in top.all()
        }
        self.waiting = [CONTENTS, *below]
        while self.waiting:
            path = self.waiting.pop()
            if path not in self.staged:
                self.staged.add(path)
                self._stage(path, below)

    def _stage(self, path: str, below: dict[str, list[Page]]) -> None:
        source = ROOT / path
        if source.is_dir():
            text = self._folder(path)
        elif path.endswith(".md"):
            text = self._page(path, below.get(path, []))
        else:
            text = _source(path)
        _write(place(path), text)

    def _page(self, path: str, below: list[Page]) -> str:
        text = (ROOT / path).read_text("utf-8")
        parts = FENCED.split(MERMAID.sub(_state_picture, text))
        text = "".join(part if part.startswith("```") else self._relinked(path, part) for part in parts)
        if path == PYTHON_PAGE:
            extra = python_pages()
            for name, page in extra.items():
                _write(f"reference/python/{name}.md", page)
            text += _toctree("", [f"{name} <python/{name}>" for name in extra])
        if path == CONTENTS:
            return text + "".join(
                _toctree(section.title, [_entry(page, "") for page in section.pages])
                for section in sections()
            )
        here = posixpath.dirname(place(path))
        return text + _toctree("", [_entry(one, here) for one in below])

    def _relinked(self, path: str, text: str) -> str:
        def changed(found: re.Match[str]) -> str:
            picture, words, link = found.groups()
            if picture:
                return self._picture(path, words, link)
            if "://" in link or link.startswith(("#", "mailto:")):
                return found[0]
            target, _, part = link.partition("#")
            if (ROOT / resolved(path, link)).is_dir() and not resolved(path, link).startswith(SHOWN):
                return words
            return f"[{self._relinked(path, words)}]({self._to(path, target)}{'#' + part if part else ''})"

        return LINKED.sub(changed, text)

    def _to(self, path: str, link: str) -> str:
        """The link from one staged page to another, which is staged too."""
        target = resolved(path, link)
        if (ROOT / target).is_dir() and (ROOT / target / "README.md").exists():
            target = f"{target}/README.md"
        if (ROOT / target).exists():
            self.waiting.append(target)
        return posixpath.relpath(place(target), posixpath.dirname(place(path)) or ".")

    def _picture(self, path: str, words: str, link: str) -> str:
        target = resolved(path, link)
        if (ROOT / target).suffix == ".svg" and DIAGRAM in (ROOT / target).read_text("utf-8"):
            return _figure(target)
        copy = STAGE / "pictures" / posixpath.basename(target)
        copy.parent.mkdir(exist_ok=True)
        shutil.copyfile(ROOT / target, copy)
        return (
            f"![{words}]({posixpath.relpath('pictures/' + copy.name, posixpath.dirname(place(path)) or '.')})"
        )

    def _folder(self, path: str) -> str:
        files = sorted(
            one
            for one in (ROOT / path).rglob("*")
            if one.suffix in LANGUAGES and "node_modules" not in one.parts
        )
        names = [one.relative_to(ROOT).as_posix() for one in files]
        own = posixpath.dirname(place(path))
        self.waiting += names
        items = [f"- [{name}]({posixpath.relpath(place(name), own)})" for name in names]
        return "---\norphan: true\n---\n\n" + "\n".join([f"# `{path}`\n", *items, ""])


def place(path: str) -> str:
    """Where a file of the repository stands on the stage."""
    if path == CONTENTS:
        return "index.md"
    if path.startswith("docs/") and path.endswith(".md"):
        return path.removeprefix("docs/")
    if path.endswith(".md"):
        return f"project/{path}"
    return f"project/{path}/index.md" if (ROOT / path).is_dir() else f"project/{path}.md"


def _entry(page: Page, here: str) -> str:
    """A page in the navigation, as a page in the folder `here` names it."""
    return f"{page.title} <{posixpath.relpath(place(page.path).removesuffix('.md'), here or '.')}>"


def _write(at: str, text: str) -> None:
    file = STAGE / at
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")


def _toctree(title: str, names: list[str]) -> str:
    if not names:
        return ""
    caption = [f":caption: {title}"] if title else []
    return "\n".join(["\n\n```{toctree}", ":hidden:", *caption, "", *names, "```\n"])


def _source(path: str) -> str:
    language = LANGUAGES.get(posixpath.splitext(path)[1], "text")
    code = (ROOT / path).read_text("utf-8").rstrip()
    return f"---\norphan: true\n---\n\n# `{path}`\n\n`````{language}\n{code}\n`````\n"


def _figure(path: str) -> str:
    drawing = (ROOT / path).read_text("utf-8").strip()
    lines = "\n".join(line for line in drawing.splitlines() if line.strip())
    return f'\n<figure class="diagram">\n{lines}\n</figure>\n'


def _state_picture(_: re.Match[str]) -> str:
    return "![The states of a run](../concepts/states.svg)"
