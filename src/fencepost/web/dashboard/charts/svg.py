"""Elements of SVG, with everything escaped."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup, escape


def element(name: str, *children: Any, **attributes: Any) -> Markup:
    """`<name attribute="value">children</name>`; `class_` is `class`, `_` is `-`, None is left out."""
    given = "".join(
        f' {_name(key)}="{escape(_number(value))}"' for key, value in attributes.items() if value is not None
    )
    inner = "".join(escape(child) for child in children if child is not None)
    return Markup(f"<{name}{given}>{inner}</{name}>" if inner else f"<{name}{given}/>")


def picture(width: float, height: float, label: str, *children: Any, **attributes: Any) -> Markup:
    """A whole picture that is one thing: its label says all of it."""
    return element(
        "svg",
        *children,
        viewBox=f"0 0 {_number(width)} {_number(height)}",
        width=width,
        height=height,
        role="img",
        aria_label=label,
        **attributes,
    )


def titled(name: str, title: str, **attributes: Any) -> Markup:
    """A mark with its title."""
    return element(name, element("title", title), **attributes)


def _name(key: str) -> str:
    return key if key == "viewBox" else key.rstrip("_").replace("_", "-")


def _number(value: Any) -> Any:
    return f"{round(value, 2):g}" if isinstance(value, float) else value
