"""`make bench-peers`: ours beside its peers in one run, the same work on the same server, in turns.

Each peer has an environment of its own under build/peers, which is made here. A peer that cannot be had is
left out with one line that says why."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict

from benchmarks.contest import Contender, Ground, StepFailed, script
from benchmarks.peers.catalogue import PEERS, Peer
from benchmarks.peers.environments import NotToBeHad, python_of
from benchmarks.peers.measuring import PAYLOAD
from benchmarks.peers.rounds import Line, measure
from benchmarks.report import circumstances, heading

TRIES = 3


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    lines: list[Line] = []
    skipped: dict[str, str] = {}
    status = 0
    about, ground = circumstances(), Ground()
    try:
        with closing(ground.server):
            for peer in PEERS:
                if options.only in ("", peer.name):
                    _measure(ground, peer, options.tries, lines, skipped)
    except KeyboardInterrupt:
        heading("stopped")
        status = 130
    _show(lines, skipped, {**about, "tries": str(options.tries)}, options.json)
    return status or int(any(line.good is False for line in lines))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-peers", description=__doc__)
    parser.add_argument("--only", default="", choices=["", *(peer.name for peer in PEERS)])
    parser.add_argument("--tries", type=int, default=TRIES, help="turns of each; the median counts")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    return parser.parse_args(arguments)


def _measure(ground: Ground, peer: Peer, tries: int, lines: list[Line], skipped: dict[str, str]) -> None:
    try:
        lines += measure(ground, peer, Contender(peer.name, script(peer.name, python_of(peer))), tries)
    except (NotToBeHad, StepFailed) as error:
        skipped[peer.name] = str(error)
        heading(f"{peer.name}: left out: {error}")


def _show(lines: Sequence[Line], skipped: dict[str, str], about: dict[str, str], as_json: bool) -> None:
    if as_json:
        rows = [{**asdict(line), "good": line.good} for line in lines]
        document = {**about, "payload": PAYLOAD, "skipped": skipped, "lines": rows}
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
        return
    print(f"commit {about['commit']}, {about['date']}; medians of {about['tries']} tries in turns")
    print("ratio > 1: ours is better")
    print(f"{'':14} {'':15} {'ours':>12} {'peer':>12} {'':8} {'ratio':>6}  µs client + server: ours, peer")
    for line in lines:
        print(text_of(line))
    for name, why in skipped.items():
        print(f"{name}: left out: {why}")


def text_of(line: Line) -> str:
    """One workload in one line."""
    value = {"/s": "per_s", "trans/s": "per_s"}.get(line.unit, f"{line.workload[-3:]}_ms")
    goal = "" if line.goal is None else f"  goal ≥ {line.goal:g} {'met' if line.good else 'NOT MET'}"
    note = f"  ({line.note})" if line.note else ""
    values = f"{line.ours[value]:12,.1f} {line.theirs[value]:12,.1f} {line.unit:8} {line.ratio:6.2f}"
    return f"{line.peer:14} {line.workload:15} {values}  {_cost(line.ours)}, {_cost(line.theirs)}{goal}{note}"


def _cost(answer: dict[str, float]) -> str:
    if "client_us" not in answer:
        return "–"
    return f"{answer['client_us']:.0f} + {answer['server_us']:.0f}"


if __name__ == "__main__":
    sys.exit(main())
