"""What cron makes of the text of a command, and whether it takes a shell to do the same.

Cron hands every command to a shell. Fencepost starts a program with its arguments and no shell between them.
Both mean the same where a line is made of words that no shell would change: then it becomes those words. A
word counts as plain only if every shell reads it alike; whatever is in doubt keeps its shell.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fencepost.model.quoting import quoted

SHELL_DEFAULT = "/bin/sh"
# Shells that read plain words alike.
KNOWN_SHELLS = frozenset({"sh", "ash", "bash", "dash", "ksh", "mksh", "zsh"})

# Words that mean something to the shell itself. Its `true`, `false`, `printf`, `test`, `kill` and `pwd` are
# programs too, and do the same.
BUILTINS = re.compile(
    r"""\.|:|alias|bg|break|builtin|case|cd|command|continue|declare|do|done|elif|else|esac|eval|exec|exit|export
    |fc|fg|fi|for|function|getopts|hash|if|in|jobs|let|local|newgrp|popd|pushd|read|readonly|return|select
    |set|shift|shopt|source|then|time|times|trap|type|typeset|ulimit|umask|unalias|unset|until|wait|while""",
    re.VERBOSE,
)
ECHO = "echo"
MARK = "END"

_PIECE = re.compile(
    r"""(?P<gap>[ \t]+)
      | '(?P<single>[^']*)'
      | "(?P<double>[^"$`\\!]*)"
      | (?P<plain>[^\s'"|&;<>()$`\\*?\[\]\#~{}!^\x00-\x1f\x7f]+)""",
    re.VERBOSE,
)
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_PERCENT = re.compile(r"(?<!\\)%")


@dataclass(frozen=True)
class NeedsShell:
    """A line that only a shell understands, and the first thing in it that says so."""

    because: str


@dataclass(frozen=True)
class Broken:
    """A line that no shell can run."""

    why: str


def read_words(command: str) -> tuple[str, ...] | NeedsShell | Broken:
    """The words of a command, if they mean the same without a shell."""
    words: list[str] = []
    word: str | None = None
    at = 0
    while at < len(command):
        piece = _PIECE.match(command, at)
        if piece is None:
            return _obstacle(command, at)
        if piece["gap"] is None:
            word = (word or "") + (piece["single"] or piece["double"] or piece["plain"] or "")
        elif word is not None:
            words.append(word)
            word = None
        at = piece.end()
    return _checked([*words, word] if word is not None else words)


def split_stdin(command: str) -> tuple[str, str | None]:
    """The command and its standard input, as cron parts them at the first `%` without a backslash."""
    found = _PERCENT.search(command)
    if found is None:
        return command.replace(r"\%", "%"), None
    text = _PERCENT.sub("\n", command[found.end() :]).replace(r"\%", "%")
    ended = text if text.endswith("\n") or not text else f"{text}\n"
    return command[: found.start()].replace(r"\%", "%"), ended


def with_stdin(command: str, stdin: str) -> str:
    """A script in which a command of plain words reads the text; the text ends with a line break."""
    taken = set(stdin.split("\n"))
    mark = next(one for number in range(len(taken) + 1) if (one := f"{MARK}{number or ''}") not in taken)
    return f"{command} <<'{mark}'\n{stdin}{mark}\n"


def _obstacle(command: str, at: int) -> NeedsShell | Broken:
    found = command[at]
    if found in "'\"" and found not in command[at + 1 :]:
        return Broken(f"the quote {found} is never closed")
    return NeedsShell(f"quotes with more than text in {found}…{found}" if found in "'\"" else quoted(found))


def _checked(words: list[str]) -> tuple[str, ...] | NeedsShell | Broken:
    if not words or not words[0]:
        return Broken("it names no program")
    program = words[0]
    if _ASSIGNMENT.match(program):
        return NeedsShell("a variable that is set for the command")
    if BUILTINS.fullmatch(program) or any(word.startswith("=") for word in words):
        return NeedsShell(quoted(program))
    if program == ECHO and any("\\" in word or word.startswith("-") for word in words[1:]):
        return NeedsShell("echo, of which shells have their own")
    return tuple(words)
