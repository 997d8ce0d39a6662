"""For users' tests: a bench in virtual time, `simulate`, and the conformance suites of stores and leases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.model.lazy import lazy

if TYPE_CHECKING:
    from fencepost.testing.bench import Bench
    from fencepost.testing.clock import VirtualClock
    from fencepost.testing.engine import BenchStuck
    from fencepost.testing.plain import PlainBench
    from fencepost.testing.simulating import simulate
    from fencepost.testing.simulation import Simulation
    from fencepost.testing.watching import Failure, NotOnTheBench, Stub

__all__ = [
    "Bench",
    "BenchStuck",
    "Failure",
    "NotOnTheBench",
    "PlainBench",
    "Simulation",
    "Stub",
    "VirtualClock",
    "simulate",
]

# pytest loads the plugin beside this file in every project in which Fencepost is installed.
__getattr__, __dir__ = lazy(
    __name__,
    {
        "Bench": "fencepost.testing.bench",
        "BenchStuck": "fencepost.testing.engine",
        "Failure": "fencepost.testing.watching",
        "NotOnTheBench": "fencepost.testing.watching",
        "PlainBench": "fencepost.testing.plain",
        "Simulation": "fencepost.testing.simulation",
        "Stub": "fencepost.testing.watching",
        "VirtualClock": "fencepost.testing.clock",
        "simulate": "fencepost.testing.simulating",
    },
)
