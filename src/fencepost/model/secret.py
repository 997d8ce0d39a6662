"""A secret as a job gets it: it shows its value only through `reveal()`."""

from __future__ import annotations

import re
from typing import NoReturn, Self

MASK = "***"
REFERENCE_PREFIX = "secret:"
"""The beginning of the name of a secret in a payload: `secret:stripe`. The payload, the ledger and every page
hold only that."""

SECRET_OR_NULL = "secret or null"
SECRET_KINDS = ("secret", SECRET_OR_NULL)
"""The kinds of parameters that take a reference."""

_SOURCE = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*|file:/[^\0]+")
CREDENTIAL_TEXT = re.compile(r"(fp_[tsl][0-9a-f]{16}_)[0-9a-f]+")
"""A credential (`model.access`) in a text, from its id on."""


class Secret:
    """The value of a parameter that a job annotates as `Secret`. `reveal()` returns the value; printed,
    formatted or put into a message it is `***`. It can be neither pickled nor written as JSON."""

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
    """The text with each credential cut down to its id."""
    return CREDENTIAL_TEXT.sub(rf"\1{MASK}", text) if "fp_" in text else text


def is_reference(text: str) -> bool:
    """Whether a text says where a secret is kept: `env:NAME` or `file:/path`."""
    return _SOURCE.fullmatch(text) is not None
