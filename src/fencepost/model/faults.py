"""An error as text. User code may raise what cannot even say what it is."""

from __future__ import annotations

import traceback


def words_of(error: BaseException) -> str:
    """The class and what the error says, on as many lines as it likes."""
    name = type(error).__name__
    try:
        said = str(error)
    except BaseException:
        return f"{name}: (its text cannot be had)"
    return f"{name}: {said}" if said else name


def traceback_of(error: BaseException) -> str:
    """The whole way of the error."""
    try:
        return "".join(traceback.format_exception(error))
    except BaseException:
        return "(its traceback cannot be had)"
