"""`python -m tests.simulation`: many worlds on all cores, and what they came to.

Ends with 1 where a promise was broken, where a world was not the same the second time, or where something
that should have been gone through was not.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

from tests.numbers import count, span
from tests.simulation.campaign import PACES, Campaign, run
from tests.simulation.examination import examine
from tests.simulation.message_world import MessageWorld
from tests.simulation.world import Make, World

SHOWN_MAX = 20
FAULT = "fault: "
EXAMPLE = "example: python -m tests.simulation --seeds 50 --hours 6; one world: --seed 17 --hours 6"


def main(arguments: Sequence[str] | None = None) -> int:
    """See the module."""
    asked = _parser().parse_args(arguments)
    make = MessageWorld if asked.messages else World
    if asked.seed is not None and asked.seeds is None:
        return _one(asked.seed, asked.hours, asked.paces, make)
    first = asked.seed or 0
    seeds = range(first, first + (50 if asked.seeds is None else asked.seeds))
    began = time.monotonic()
    campaign = Campaign()
    try:
        for left, campaign in run(seeds, asked.hours, asked.processes, asked.paces, make):
            _progress(left, len(seeds), campaign, time.monotonic() - began)
    except KeyboardInterrupt:
        print("\nstopped; what follows is of the worlds that were finished", file=sys.stderr)
    took_s = time.monotonic() - began
    found = figures(campaign, took_s)
    print(json.dumps(found, indent=2) if asked.json else report(campaign, found))
    return 1 if campaign.violations or campaign.unlike or campaign.unseen else 0


def figures(campaign: Campaign, took_s: float) -> dict[str, Any]:
    """The campaign in numbers."""
    met = campaign.seen
    faults = {
        name.removeprefix("fault: "): n for name, n in sorted(met.items()) if name.startswith("fault: ")
    }
    return {
        "worlds": len(campaign.examined),
        "repeated": len(campaign.repeated),
        "cluster_hours": round(campaign.total("hours"), 1),
        "ticks": int(campaign.total("ticks")),
        "runs": int(campaign.total("runs")),
        "leader_changes": int(campaign.total("leader_changes")),
        "faults": sum(faults.values()),
        "faults_by_kind": faults,
        "seen": {name: n for name, n in sorted(met.items()) if not name.startswith(FAULT)},
        "violations": len(campaign.violations),
        "unlike": campaign.unlike,
        "unseen": campaign.unseen,
        "took_s": round(took_s, 1),
    }


def report(campaign: Campaign, found: dict[str, Any]) -> str:
    """The same for a person."""
    lines = [
        f"{found['worlds']} worlds, {found['cluster_hours']:,} hours of cluster time, in {found['took_s']} s",
        f"{found['ticks']:,} ticks, {found['runs']:,} runs, {found['leader_changes']:,} leader changes",
        f"{found['faults']:,} faults: " + _listed(found["faults_by_kind"]),
        "gone through: " + _listed(found["seen"]),
        f"{found['repeated']} worlds repeated, {len(found['unlike'])} of them not the same",
        f"{found['violations']} violations",
    ]
    lines += [f"  seed {seed}: {what}" for seed, what in campaign.violations[:SHOWN_MAX]]
    if campaign.violations:
        lines.append(f"  again: python -m tests.simulation --seed {campaign.violations[0][0]} --hours HOURS")
    lines += [f"  seed {seed} was another world the second time" for seed in campaign.unlike[:SHOWN_MAX]]
    lines += [f"  never gone through: {name}" for name in campaign.unseen]
    return "\n".join(lines)


def _one(seed: int, hours: float, paces: Sequence[int], make: Make) -> int:
    logging.getLogger("fencepost").setLevel(logging.CRITICAL)
    found = examine(seed, hours, paces, make)
    print(f"seed {seed}: {found.ticks:,} ticks, {found.runs:,} runs, trace {found.trace}")
    for what in found.violations:
        print(f"  {what}")
    return 1 if found.violations else 0


def _progress(left: int, seeds: int, campaign: Campaign, took_s: float) -> None:
    """On a terminal one line that changes; elsewhere a line now and then."""
    done = 2 * seeds - left
    words = (
        f"{done}/{2 * seeds} {campaign.total('hours'):,.0f} h, {len(campaign.violations)} violations, "
        f"{took_s:.0f} s"
    )
    if sys.stderr.isatty():
        print(f"\r\x1b[K{words}", end="" if left else "\n", file=sys.stderr, flush=True)
    elif done % max(seeds // 5, 1) == 0:
        print(words, file=sys.stderr, flush=True)


def _listed(counted: dict[str, int]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in counted.items())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__, epilog=EXAMPLE)
    parser.add_argument("--seeds", type=count, help="how many worlds (50)")
    parser.add_argument("--seed", type=int, help="the first one; without --seeds the only one")
    parser.add_argument("--hours", type=span, default=6.0, help="of cluster time in each (6)")
    parser.add_argument("--processes", type=count, default=os.cpu_count() or 2, help="at once (one per core)")
    paces = " ".join(map(str, PACES))
    parser.add_argument(
        "--paces", type=count, nargs="+", default=PACES, help=f"drawn from: 1 is the default terms ({paces})"
    )
    parser.add_argument("--messages", action="store_true", help="worlds with a message broker")
    parser.add_argument("--json", action="store_true", help="the figures for a program")
    return parser


if __name__ == "__main__":
    sys.exit(main())
