"""Commands as jobs: an argv without a shell, in a process group of its own, with nothing of the worker in it.

The command learns about its run from its environment, which is built from nothing; payloads never reach the
argv. It has no input, no open file of the worker, and the limits that the job declares. Its output goes to
the run's log line by line, and the last 64 KiB are kept. Exit 0 is success, 64 to 78 (sysexits) a permanent
failure, anything else a failure to retry. When the attempt is cancelled or times out the whole group gets
SIGTERM and, a little later, SIGKILL. What a command left running in the background on purpose goes on when
the command itself ends well, and what has left the group (a daemon that made a session of its own) is out of
reach. On Linux the program itself, though not what it has started, ends with a worker that is killed.

Files: `spec` is what a job declares, `environment`, `limits` and `allowed` are parts of it; `executor` does
the work, `launch` is what the new process runs before it becomes the command, `group` watches it to its end.
"""

from __future__ import annotations

from fencepost.executors.command.allowed import AllowList
from fencepost.executors.command.executor import CommandExecutor
from fencepost.executors.command.spec import PAYLOAD_BYTES_MAX, Command

__all__ = ["PAYLOAD_BYTES_MAX", "AllowList", "Command", "CommandExecutor"]
