"""The safety gate: catch-up is held back when it does harm, until an operator decides.

A fleet that comes back after an outage may owe a thousand runs to a target that is still down. The gate
closes when more catch-up ticks wait than its cap, or when too large a share of those that ended last
failed. It never opens by itself: an operator decides what to do with the backlog.
"""

from __future__ import annotations

from fencepost.model.claiming import GateFacts
from fencepost.model.policies import GateTerms


def why_close(terms: GateTerms, facts: GateFacts) -> str | None:
    """The reason for which an open gate closes now, or None."""
    if facts.waiting > terms.waiting_max:
        return f"more than {terms.waiting_max} catch-up runs wait"
    last = facts.failed[: terms.of_last]
    failed = sum(last)
    if len(last) == terms.of_last and failed > terms.failed_share * terms.of_last:
        return f"{failed} of the last {terms.of_last} catch-up runs failed"
    return None
