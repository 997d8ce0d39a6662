"""Takes inline scripts and styles out of the built pages and into files.

The web server shows the site under `/docs` with the policy of the dashboard. It allows scripts and styles
only from files of its own.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
STYLE = re.compile(r"<style[^>]*>(.*?)</style>", re.DOTALL)
ATTRIBUTE = re.compile(r' style="([^"]*)"')
DIGEST_LENGTH = 12


def take_out_inline(site: Path) -> None:
    """Rewrite every page of the site."""
    for page in site.rglob("*.html"):
        page.write_text(_Page(site, page).rewritten(), "utf-8")


class _Page:
    def __init__(self, site: Path, page: Path) -> None:
        self.folder = site / "_static" / "inline"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.up = os.path.relpath(self.folder, page.parent)
        self.text = page.read_text("utf-8")
        self.styles: list[str] = []

    def rewritten(self) -> str:
        text = SCRIPT.sub(lambda found: f'<script src="{self._file(found[1], "js")}"></script>', self.text)
        text = STYLE.sub(self._style, text)
        text = ATTRIBUTE.sub(self._attribute, text)
        links = dict.fromkeys(f'<link rel="stylesheet" href="{one}">' for one in self.styles)
        return text.replace("</head>", "".join(links) + "</head>", 1)

    def _style(self, found: re.Match[str]) -> str:
        self.styles.append(self._file(found[1], "css"))
        return ""

    def _attribute(self, found: re.Match[str]) -> str:
        name = _digest(found[1])
        self.styles.append(self._file(f'[data-style="{name}"] {{ {found[1]} }}\n', "css"))
        return f' data-style="{name}"'

    def _file(self, text: str, kind: str) -> str:
        file = self.folder / f"{_digest(text)}.{kind}"
        if not file.exists():
            file.write_text(text, "utf-8")
        return f"{self.up}/{file.name}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_LENGTH]
