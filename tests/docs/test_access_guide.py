"""The access guide says of every operation which role it needs, and of no other."""

from __future__ import annotations

import re
from pathlib import Path

from fencepost.model.access import Role
from fencepost.web.application import operations

GUIDE = Path(__file__).parents[2] / "docs/guides/access.md"
ROW = re.compile(r"^\| `(\w+)`(, good in all namespaces)? \| (`\w+\.\w+`.*) \|$", re.MULTILINE)


def test_the_guide_does_not_differ_from_the_catalogue() -> None:
    told = [
        (name, Role(role), bool(fleet))
        for role, fleet, names in ROW.findall(GUIDE.read_text("utf-8"))
        for name in re.findall(r"`([^`]+)`", names)
    ]
    known = {(one.name, one.role, one.whole_fleet) for one in operations()}
    assert len(told) == len(set(told))
    assert set(told) == known
