"""The list of all that Fencepost can install, as CycloneDX 1.6 JSON.

It is made from the environment, with hashes from the lock. `all` is every extra that users have; what
`fencepost` alone does not need is optional. The list has no addresses: a package is named by its purl. The
same revision gives the same bytes.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
NAME = "fencepost"
_PIN = re.compile(r"^([\w.-]+)==([^\s;\\]+)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
Json = dict[str, Any]


def closure(*extras: str) -> dict[str, set[str]]:
    """What `fencepost[extras]` installs here: each distribution, and what it needs."""
    found: dict[str, set[str]] = {}
    asked: dict[str, set[str]] = {}
    waiting = [(NAME, frozenset(extras))]
    while waiting:
        name, wanted = waiting.pop()
        if name in found and wanted <= asked[name]:
            continue
        asked.setdefault(name, set()).update(wanted)
        needed = [one for one in _needed(name, wanted) if _is_installed(one.name)]
        found.setdefault(name, set()).update(canonicalize_name(one.name) for one in needed)
        waiting += [(canonicalize_name(one.name), frozenset(one.extras)) for one in needed]
    return found


def _needed(name: str, extras: frozenset[str]) -> Iterator[Requirement]:
    for line in distribution(name).requires or ():
        one = Requirement(line)
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in (*extras, "")):
            yield one


def _is_installed(name: str) -> bool:
    """What only another platform needs is not here."""
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def sbom(version: str, made_at: str) -> str:
    """The document."""
    everything, base = closure("all"), closure()
    locked = locked_hashes((ROOT / "requirements.lock").read_text("utf-8"))
    main = {
        "type": "application",
        "bom-ref": NAME,
        "name": NAME,
        "version": version,
        "purl": _purl(NAME, version),
    }
    components = [_component(one, one in base, locked) for one in sorted(everything) if one != NAME]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(components) + version)}",
        "version": 1,
        "metadata": {"timestamp": made_at, "component": main | _licence(distribution(NAME))},
        "components": components,
        "dependencies": [{"ref": one, "dependsOn": sorted(everything[one])} for one in sorted(everything)],
    }
    return json.dumps(document, indent=2) + "\n"


def locked_hashes(lock: str) -> dict[str, tuple[str, list[str]]]:
    """The version and the hashes of each distribution of a lock."""
    pins = list(_PIN.finditer(lock))
    ends = [*(one.start() for one in pins[1:]), len(lock)]
    return {
        canonicalize_name(pin[1]): (pin[2], _HASH.findall(lock, pin.end(), end))
        for pin, end in zip(pins, ends, strict=True)
    }


def _component(name: str, is_required: bool, locked: Mapping[str, tuple[str, list[str]]]) -> Json:
    found = distribution(name)
    version, hashes = locked[name]
    assert version == found.version, (
        f"{name} {found.version} is installed and {version} is locked; run: make lock"
    )
    return {
        "type": "library",
        "bom-ref": name,
        "name": found.name,
        "version": version,
        "purl": _purl(name, version),
        "scope": "required" if is_required else "optional",
        "properties": [{"name": "lock:sha256", "value": one} for one in hashes],
    } | _licence(found)


def _licence(found: Distribution) -> Json:
    expressions = found.metadata.get_all("License-Expression")
    if expressions:
        return {"licenses": [{"expression": expressions[0]}]}
    classified = found.metadata.get_all("Classifier") or ()
    names = [one.rpartition(" :: ")[2] for one in classified if one.startswith("License ::")]
    return {"licenses": [{"license": {"name": one}} for one in names]} if names else {}


def _purl(name: str, version: str) -> str:
    return f"pkg:pypi/{name}@{version}"
