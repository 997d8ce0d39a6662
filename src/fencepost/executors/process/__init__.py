"""CPU-bound functions in child processes of our own.

The worker keeps a pool of children and lends each run one of them. A child does one errand at a time: it
finds the function by the module and the name that the worker's registry holds, binds the payload to it, and
answers in JSON. What happens to a child happens to the run that it had and to no other:

- at a timeout or a cancellation the run's `cancelled` flag is set in the child; a little later the child's
  whole process group is killed. SIGTERM would be of no use: Python hears it only between two of its own
  instructions, and a function that hangs in C code never comes to the next.
- a child that dies (a fault in C code, `os._exit`, the kernel's want of memory) fails its run, to be retried,
  and is replaced when the next run asks.
- a worker that dies takes its children along.

Files: `executor` is the kind of work, `pool` lends children, `peer` is the worker's end of one child and
`child` the child itself; `wire` is what they say to each other.
"""

from __future__ import annotations

from fencepost.executors.process.executor import ProcessExecutor
from fencepost.executors.process.pool import ProcessPool

__all__ = ["ProcessExecutor", "ProcessPool"]
