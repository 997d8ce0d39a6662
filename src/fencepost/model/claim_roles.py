"""Which role a person has by what their sign-in provider says of them.

A rule is `VALUE=ROLE`, or `VALUE=ROLE@NAMESPACE` for one namespace instead of all. The first rule counts
whose value is among those of the claim.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from fencepost.model.access import EVERYWHERE, Role
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Namespace, checked_name

ROLES_OF_PEOPLE = (Role.VIEWER, Role.OPERATOR, Role.ADMIN)


@dataclass(frozen=True)
class ClaimRole:
    """One rule."""

    value: str
    role: Role
    namespace: Namespace


def parse_claim_role(text: str) -> ClaimRole:
    """The rule that is written so; a `ValueError` says what was expected."""
    value, equals, rest = text.rpartition("=")
    role, at, namespace = rest.partition("@")
    if not equals or not value or role not in ROLES_OF_PEOPLE or (at and not namespace):
        roles = ", ".join(ROLES_OF_PEOPLE)
        raise ValueError(f"expected VALUE=ROLE or VALUE=ROLE@NAMESPACE, with a role of {roles}")
    if at and namespace != EVERYWHERE:
        checked_name("namespace", namespace)
    return ClaimRole(value, Role(role), Namespace(namespace) if at else EVERYWHERE)


def role_by_claim(rules: Iterable[ClaimRole], values: Collection[str]) -> ClaimRole | None:
    """The first rule that fits; None where the person has no role."""
    return next((one for one in rules if one.value in values), None)


def claim_values(claims: Mapping[str, Any], claim: str) -> tuple[str, ...] | None:
    """The texts of a claim; None where it is not there. Dots lead into objects where no claim has the whole
    name: `realm_access.roles`."""
    found: Any = claims.get(claim)
    if found is None:
        found = claims
        for part in claim.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
    if found is None:
        return None
    each = found if isinstance(found, list) else [found]
    return tuple(one for one in each if isinstance(one, str))
