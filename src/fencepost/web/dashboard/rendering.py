"""Templates into HTML: everything escaped, nothing undefined."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import jinja2

from fencepost.core.catchup import ON_TIME_MAX
from fencepost.core.masking import masked_text
from fencepost.model.access import Role
from fencepost.model.run import RunState
from fencepost.model.views import COUNTED_MAX
from fencepost.web.dashboard import links
from fencepost.web.dashboard.assets import asset_url
from fencepost.web.dashboard.charts.marks import SHAPES, mark_defs, mark_shape
from fencepost.web.dashboard.navigation import GROUPS
from fencepost.web.dashboard.page import Visit
from fencepost.web.dashboard.states import HELD, SHOWN
from fencepost.web.dashboard.tell import Tell, count, share, span
from fencepost.web.dashboard.turning import shown


@cache
def environment() -> jinja2.Environment:
    """The one environment of all pages."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("fencepost.web.dashboard", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        finalize=shown,
    )
    made.globals.update(
        asset=asset_url,
        mark_shape=mark_shape,
        mark_defs=mark_defs,
        mark_names=tuple(SHAPES),
        on_time_max_s=ON_TIME_MAX.total_seconds(),
        links=links,
        groups=GROUPS,
        states=SHOWN,
        hold_words=HELD,
        Role=Role,
        RunState=RunState,
        said=None,
        counted_max=COUNTED_MAX,
    )
    made.filters.update(span=span, share=share, count=count, masked=masked_text)
    return made


def render(template: str, visit: Visit[Any], title: str, section: str, values: Mapping[str, Any]) -> str:
    """A whole page for one visit."""
    return (
        environment()
        .get_template(template)
        .render(
            visit=visit,
            title=title,
            section=section,
            tell=Tell(visit.now, visit.zone),
            may=visit.may,
            csrf=visit.csrf,
            said=visit.said,
            theme=visit.theme,
            zone=visit.zone.key,
            **values,
        )
    )


def render_alone(template: str, title: str, theme: str = "auto", **values: Any) -> str:
    """A page for somebody whom we do not know, or while the store does not answer."""
    return (
        environment()
        .get_template(template)
        .render(visit=None, title=title, section="", csrf="", said=None, theme=theme, zone="UTC", **values)
    )
