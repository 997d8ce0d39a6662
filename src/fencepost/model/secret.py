"""A secret in the hands of a job: it shows itself only when it is asked to."""

from __future__ import annotations

import re
from typing import NoReturn, Self

MASK = "***"
REFERENCE_PREFIX = "secret:"
"""How a payload names a secret: `secret:stripe`. The payload, the ledger and every page hold only that."""

SECRET_OR_NULL = "secret or null"
SECRET_KINDS = ("secret", SECRET_OR_NULL)
"""The kinds of parameters that take a reference."""

CREDENTIAL_TEXT = re.compile(r"(fp_[tsl][0-9a-f]{16}_)[0-9a-f]+")
"""A credential (`model.access`) in a text, from its id on."""


class Secret:
    """What a job is given for a parameter that is annotated so. `reveal()` is the value; printed, formatted
    or put into a message it is `***`. It can be neither pickled nor written as JSON."""

    __slots__ = ("_value", "name")

    def __init__(self, name: str, value: str) -> None:
        self.name = name
        """The name under which it is registered."""
        self._value = value

    def reveal(self) -> str:
        """The value itself."""
        return self._value

    def __repr__(self) -> str:
        return f"Secret({self.name!r}, {MASK})"

    def __str__(self) -> str:
        return MASK

    def __format__(self, spec: str) -> str:
        return MASK

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"secret {self.name}: cannot be pickled; pass on its reference instead")


def hide_credentials(text: str) -> str:
    """The text with no more of any credential in it than its id."""
    return CREDENTIAL_TEXT.sub(rf"\1{MASK}", text) if "fp_" in text else text
