"""Closed catch-up gates: what each holds, and the decision that it waits for."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from fencepost.model.access import Role
from fencepost.model.gate import ClosedGate
from fencepost.operations.words import PLAIN_PATTERN
from fencepost.web.dashboard import links
from fencepost.web.dashboard.page import Shown, Visit, page
from fencepost.web.dashboard.tell import count, span

SHOWN_MAX = 10


class GateQuery(Struct, frozen=True):
    """From which one on."""

    after: Annotated[str, Meta(max_length=300, pattern=PLAIN_PATTERN)] = ""


@page("/gates", Role.VIEWER, title="Catch-up gates", template="gates.html", section="gates", query=GateQuery)
async def gates_page(visit: Visit[GateQuery]) -> Shown:
    """The inbox, by schedule."""
    gates = await visit.control.store.gates.closed(visit.control.namespace)
    behind = [one for one in gates if one.schedule_id > visit.query.after]
    shown, more = behind[:SHOWN_MAX], len(behind) > SHOWN_MAX
    return {
        "gates": [(one, words(one)) for one in shown],
        "total": len(gates),
        "held": sum(one.held for one in gates),
        "next_url": links.with_query("/gates", {"after": shown[-1].schedule_id}) if more else None,
        "first_url": "/gates" if visit.query.after else None,
    }


def words(gate: ClosedGate) -> str:
    """How much work is held, as far as one can tell."""
    runs = f"{count(gate.held)} {'run' if gate.held == 1 else 'runs'}"
    if gate.run_s is None or gate.lasts_s is None:
        return f"{runs}; how long one takes nobody can tell yet."
    at_once = "one at a time" if gate.at_once == 1 else f"{gate.at_once} at a time"
    return f"{runs} of about {span(gate.run_s)} each: {at_once} that takes {span(gate.lasts_s)}."
