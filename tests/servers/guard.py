"""The last line of defence against servers that outlive their tests.

A shell holds the other end of a pipe. When the pipe breaks, because the tests have ended in whatever way, it
ends every process group that is still on its list and removes the folder that all servers keep their data in.
"""

import atexit
import subprocess
import tempfile
from functools import cache
from pathlib import Path

END_TIMEOUT_S = 20.0
SCRIPT = """
trap '' HUP INT TERM
while read -r line; do held=$line; done
for pid in $held; do kill -9 "-$pid"; done
rm -rf "$1"
"""


class Guard:
    """Knows what runs, and outlives us."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="fencepost-servers-"))
        self._folder.chmod(0o755)
        self._held: list[int] = []
        self._shell = subprocess.Popen(
            ["sh", "-c", SCRIPT, "guard", str(self._folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        atexit.register(self._close)

    def create_folder(self, name: str) -> Path:
        """A fresh folder for a server's data."""
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self._folder))

    def hold(self, pid: int) -> None:
        """End that process group if we cannot."""
        self._held.append(pid)
        self._tell()

    def let_go(self, pid: int) -> None:
        """It has ended; its number may be another's soon."""
        self._held.remove(pid)
        self._tell()

    def _tell(self) -> None:
        assert self._shell.stdin is not None
        self._shell.stdin.write(" ".join(map(str, self._held)).encode() + b"\n")
        self._shell.stdin.flush()

    def _close(self) -> None:
        self._shell.communicate(timeout=END_TIMEOUT_S)


@cache
def guard() -> Guard:
    """The one of this process. Its end is registered before that of any server, so it comes last."""
    return Guard()
