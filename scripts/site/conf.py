"""What Sphinx is told. Read by Sphinx alone; `python -m scripts.site` starts it."""

from __future__ import annotations

import re
from typing import Any

from fencepost import __version__

project = "Fencepost"
author = "the Fencepost authors"
copyright = author
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header", "misc.highlighting_failure"]
default_role = "code"
highlight_language = "text"
pygments_style = "tango"
pygments_dark_style = "github-dark"

autodoc_default_options = {"members": True, "member-order": "bysource", "undoc-members": False}
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
toc_object_entries = False

html_theme = "furo"
html_title = f"Fencepost {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_favicon = "../../src/fencepost/web/dashboard/static/icon.svg"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#1f5fbf",
        "color-brand-content": "#1f5fbf",
        "color-sidebar-link-text--top-level": "var(--color-foreground-primary)",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7fb0ff",
        "color-brand-content": "#7fb0ff",
        "color-sidebar-link-text--top-level": "var(--color-foreground-primary)",
    },
}


def _in_rest(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Docstrings mark code as the default role does. Only a list needs an empty line above it."""
    for index in range(len(lines) - 1, 0, -1):
        if (
            re.match(r"- ", lines[index])
            and lines[index - 1].strip()
            and not re.match(r"- |  ", lines[index - 1])
        ):
            lines.insert(index, "")


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", _in_rest)
