"""How a command ends when it cannot do what it was asked: one line on stderr, and an exit code.

0 is fine, 1 means that the answer is "no", 2 that the call was wrong or the store is away, 130 that somebody
pressed Ctrl-C. Anything else is our own bug and keeps its traceback.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

from fencepost.errors import StoreUnavailable, UsageError

FINE, NO, WRONG, INTERRUPTED = 0, 1, 2, 130


def guarded(work: Callable[[], Any]) -> int:
    """Do the work; the exit code that tells how it went."""
    try:
        code = work()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return WRONG
    except click.ClickException as error:
        return _refuse(_of_click(error))
    except (UsageError, StoreUnavailable) as error:
        return _refuse(str(error))
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; the interpreter's last flush must not complain about it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NO
    return code if isinstance(code, int) else FINE


def check_words(words: Sequence[str]) -> None:
    """Every word of a call is text. Bytes that are none come as lone surrogates, which neither a store nor a
    server takes. The word itself is not told: it may be a secret."""
    for place, word in enumerate(words, 1):
        try:
            word.encode()
        except UnicodeEncodeError as error:
            at = error.start + 1
            raise UsageError(
                f"word {place} of the call: character {at} is not UTF-8; write it anew"
            ) from None


def _refuse(message: str) -> int:
    click.echo(f"fencepost: {one_line(message)}", err=True)
    return WRONG


def one_line(text: str) -> str:
    """The text without line breaks or anything that a terminal would obey."""
    return "".join(c if c.isprintable() else " " for c in " ".join(text.split()))


def _of_click(error: click.ClickException) -> str:
    message = error.format_message().rstrip(".")
    context = getattr(error, "ctx", None)
    return f"{message} (see: {context.command_path} --help)" if context is not None else message
