"""How much of the machine a command may use."""

from __future__ import annotations

import resource
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from fencepost.errors import InvalidDuration, InvalidSpec
from fencepost.model.durations import parse_duration
from fencepost.model.quoting import quoted
from fencepost.model.sizes import parse_size

CPU_GRACE_S = 5
"""Between SIGXCPU, which a command may use to clean up, and SIGKILL."""

Limit = tuple[int, int, int]
"""The resource, the soft limit, the hard one."""


@dataclass(frozen=True)
class Limits:
    """What the kernel holds a command to; None is what the worker itself has. There are never core files."""

    cpu_s: int | None = None
    memory_bytes: int | None = None
    files: int | None = None
    processes: int | None = None
    file_size_bytes: int | None = None

    def for_kernel(self) -> list[Limit]:
        """Memory comes last: setting the other limits needs some of it."""
        chosen: list[tuple[int, int | None, int]] = [
            (resource.RLIMIT_CORE, 0, 0),
            (resource.RLIMIT_CPU, self.cpu_s, CPU_GRACE_S),
            (resource.RLIMIT_NOFILE, self.files, 0),
            (resource.RLIMIT_NPROC, self.processes, 0),
            (resource.RLIMIT_FSIZE, self.file_size_bytes, 0),
            (resource.RLIMIT_AS, self.memory_bytes, 0),
        ]
        return [(kind, limit, limit + grace) for kind, limit, grace in chosen if limit is not None]


def read_limits(words: Mapping[str, Any]) -> Limits:
    """Limits from the words people use: cpu = "1h", memory = "2GB", files = 256…"""
    for word in words:
        if word not in _WORDS:
            raise InvalidSpec(f"limits: {word} is unknown; expected one of {', '.join(_WORDS)}")
    return Limits(**{_WORDS[word][0]: _read(word, value) for word, value in words.items()})


def _read(word: str, value: Any) -> int:
    try:
        limit = _WORDS[word][1](value)
    except (InvalidSpec, InvalidDuration) as error:
        raise InvalidSpec(f"limits: {word}: {error}") from None
    if limit < 1:
        raise InvalidSpec(f"limits: {word} {quoted(value)}: expected more than nothing")
    return limit


def _seconds(value: Any) -> int:
    return ceil(parse_duration(value).total_seconds())


def _count(value: Any) -> int:
    if type(value) is not int:
        raise InvalidSpec(f"{quoted(value)}: expected a whole number")
    return value


_WORDS: dict[str, tuple[str, Callable[[Any], int]]] = {
    "cpu": ("cpu_s", _seconds),
    "memory": ("memory_bytes", parse_size),
    "files": ("files", _count),
    "processes": ("processes", _count),
    "file_size": ("file_size_bytes", parse_size),
}
