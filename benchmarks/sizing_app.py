"""The application whose ticks are measured: `python -m benchmarks.sizing` starts it."""

from __future__ import annotations

import os

from benchmarks import noop

app = noop.make(os.environ["FENCEPOST_STORE"])
