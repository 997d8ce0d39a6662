"""Names for what had none: readable, unique, and the same at every import of the same file."""

from __future__ import annotations

import re

SLUG_LENGTH_MAX = 60
FALLBACK = "job"
SUFFIXES = (".sh", ".bash", ".py", ".pl", ".rb", ".php", ".js", ".jar", ".exe")

# Words that stand before the program that does the work.
WRAPPERS = frozenset(
    {"chronic", "command", "env", "exec", "ionice", "nice", "nohup", "setsid", "sudo", "time"}
)
# Commands that only prepare the next one.
ASIDES = frozenset({"", ".", ":", "[", "cd", "export", "set", "sleep", "source", "test", "ulimit", "umask"})
INTERPRETERS = re.compile(r"(?:ba|da|k|z)?sh|python[0-9.]*|perl|ruby|php[0-9.]*|node")

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_JOINTS = re.compile(r"&&|\|\||[;|&(){}\n]")
_UNFIT = re.compile(r"[^A-Za-z0-9_]+")


class Names:
    """Gives each thing a name that no other has: `backup`, `backup-2`."""

    def __init__(self, separator: str = "-") -> None:
        self._separator = separator
        self._last: dict[str, int] = {}

    def unique(self, name: str) -> str:
        """The name itself the first time, with a number after that."""
        chosen = name
        while chosen in self._last:
            self._last[name] += 1
            chosen = f"{name}{self._separator}{self._last[name]}"
        self._last[chosen] = 1
        return chosen


def slug(text: str) -> str:
    """A name of letters, digits, `-` and `_`, which needs no quotes anywhere."""
    return _UNFIT.sub("-", text)[:SLUG_LENGTH_MAX].strip("-") or FALLBACK


def program_name(command: str) -> str:
    """The name of the program that a command line is about."""
    for part in _JOINTS.split(command):
        words = _from_program(part.split())
        if words and _base(words[0]) not in ASIDES:
            return slug(_stem(_script(words)))
    return FALLBACK


def _from_program(words: list[str]) -> list[str]:
    """The words without assignments and wrappers, and without the options of a wrapper."""
    wrapped = False
    for place, word in enumerate(words):
        if _base(word) in WRAPPERS:
            wrapped = True
        elif not (_ASSIGNMENT.match(word) or (wrapped and _is_setting(word))):
            return words[place:]
    return []


def _is_setting(word: str) -> bool:
    return word.startswith("-") or word.isdigit()


def _script(words: list[str]) -> str:
    """What an interpreter is given to read, or the program itself."""
    if INTERPRETERS.fullmatch(_base(words[0])):
        rest = words[1:]
        if rest[:1] == ["-m"]:
            rest = rest[1:]
        if rest and not rest[0].startswith("-"):
            return rest[0]
    return words[0]


def _stem(word: str) -> str:
    base = _base(word)
    return next((base.removesuffix(one) for one in SUFFIXES if base.endswith(one)), base)


def _base(word: str) -> str:
    return word.strip("'\"").rstrip("/").rpartition("/")[2]
