"""What a new process runs before it becomes the command: it ties its life to the worker's, takes on its
limits, and is then replaced.

This file is started by its path in an isolated interpreter, and imports nothing but the standard library.

Why another program at all: limits must be there before the command's first instruction. Setting them from
outside, right after the start (`prlimit`), leaves a window; setting them in the worker itself, around the
start, holds its threads to them; and Python code between fork and exec (`preexec_fn`) can deadlock in a
process with threads, and has the whole worker copied by fork where vfork would do. This costs a few
tens of milliseconds a start.

On Linux the kernel ends the command when its worker ends, also by `kill -9`: the rescued run must not meet
the old copy still at work. It watches the thread that started this process, which is that of the worker's
loop. What the command itself starts is not tied, and a program with rights of its own (setuid) unties itself.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys

CANNOT_START = 78
PR_SET_PDEATHSIG = 1


def main(answer_fd: int, settings: str, program: str, argv: list[str]) -> None:
    """Become the program, or say over the descriptor why not. Where all is well it closes by itself."""
    os.set_inheritable(answer_fd, False)
    try:
        _prepare(json.loads(settings))
        os.execv(program, argv)
    except (OSError, ValueError, MemoryError) as error:
        why = error.strerror if isinstance(error, OSError) else None
        os.write(answer_fd, (why or repr(error)).encode())
        os._exit(CANNOT_START)


def _prepare(settings: dict[str, object]) -> None:
    _die_with(settings["worker_pid"])
    # The interpreter has done two things to this process that the command must not inherit.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    if not settings["has_lc_ctype"]:
        os.environ.pop("LC_CTYPE", None)
    for kind, soft, hard in settings["limits"]:  # type: ignore[attr-defined]
        highest = resource.getrlimit(kind)[1]
        bounds = (
            (soft, hard) if highest == resource.RLIM_INFINITY else (min(soft, highest), min(hard, highest))
        )
        resource.setrlimit(kind, bounds)


def _die_with(worker_pid: object) -> None:
    """A worker that ended before the kernel was asked is not waited for."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != worker_pid:
        os._exit(CANNOT_START)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:])
