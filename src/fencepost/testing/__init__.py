"""For users' tests: a bench in virtual time, `simulate`, and the conformance suites of stores and leases."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
_HOMES = {
    "Bench": "fencepost.testing.bench",
    "BenchStuck": "fencepost.testing.engine",
    "Failure": "fencepost.testing.watching",
    "NotOnTheBench": "fencepost.testing.watching",
    "PlainBench": "fencepost.testing.plain",
    "Simulation": "fencepost.testing.simulation",
    "Stub": "fencepost.testing.watching",
    "VirtualClock": "fencepost.testing.clock",
    "simulate": "fencepost.testing.simulating",
}


def __getattr__(name: str) -> Any:
    """A public name, imported when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
