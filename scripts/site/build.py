"""Builds the staged pages into `build/site`.

A broken link, a page outside the navigation, a public name without a docstring, and anything that a page
would load from another host fail the build.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from scripts.site.inline import take_out_inline
from scripts.site.pages import ROOT
from scripts.site.python_page import undocumented

SITE = ROOT / "build" / "site"
LOADED = re.compile(r"""<(?:script|img|iframe|source|link)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//[^>]*>""")
IMPORTED = re.compile(r"""(?:@import|url\()\s*["']?(?:https?:)?//[^)"']*""")


def built(stage: Path, site: Path) -> bool:
    """Whether the pages of the stage could be built into the site without a fault."""
    shutil.rmtree(site, ignore_errors=True)
    sphinx = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", "-b", "html"]
    settings = ["-c", str(Path(__file__).parent), "-d", str(site.parent / "doctrees")]
    outcome = subprocess.run([*sphinx, *settings, str(stage), str(site)], check=False, cwd=ROOT)
    if outcome.returncode:
        return False
    take_out_inline(site)
    return not _told("the site loads from other hosts:", loads_from_elsewhere(site))


def undocumented_told() -> bool:
    """Whether a public name has no docstring; each is told."""
    return _told("public names without a docstring:", undocumented())


def loads_from_elsewhere(site: Path) -> list[str]:
    """Every script, picture, style or font that a page would fetch from another host."""
    return [
        f"{file.relative_to(site)}: {found}"
        for file in sorted([*site.rglob("*.html"), *site.rglob("*.css")])
        for found in (LOADED if file.suffix == ".html" else IMPORTED).findall(file.read_text("utf-8"))
    ]


def _told(heading: str, faults: list[str]) -> bool:
    if faults:
        print(heading, *faults, sep="\n  ", file=sys.stderr)
    return bool(faults)
