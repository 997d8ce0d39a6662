"""Leases on Kubernetes keep the contract, before the double of the API server."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fencepost.testing.conformance.leases import HintContract, LeaseConformance
from tests.leases.kubernetes.behaviour import KubernetesBehaviour
from tests.leases.kubernetes.harness import KubernetesHarness
from tests.leases.kubernetes.on_double import harness_on_double


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[KubernetesHarness]:
    async with harness_on_double(tmp_path) as harness:
        yield harness


class TestKubernetesLeases(LeaseConformance, HintContract):
    """See `LeaseConformance`."""


class TestKubernetesBehaviour(KubernetesBehaviour):
    """See `KubernetesBehaviour`."""
