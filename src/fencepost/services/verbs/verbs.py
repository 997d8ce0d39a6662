"""What the verbs of every noun have: a store, a namespace, and the author of what they change."""

from __future__ import annotations

from fencepost.model.audit import Author
from fencepost.model.identifiers import Namespace
from fencepost.model.quotas import UNLIMITED, Quotas
from fencepost.ports.store import Store
from fencepost.services.offload import Offload, inline
from fencepost.services.quotas import UNCOUNTED, RunQuota

PROGRAM = Author("application", "python")
"""Whoever calls from a program and does not say who asked for it."""


class Verbs:
    """Verbs of one namespace. What they change is written down in the author's name."""

    def __init__(
        self,
        store: Store,
        namespace: Namespace,
        author: Author = PROGRAM,
        offload: Offload = inline,
        quotas: Quotas = UNLIMITED,
        run_quota: RunQuota = UNCOUNTED,
    ) -> None:
        self._store = store
        self._namespace = namespace
        self._author = author
        self._offload = offload
        self._quotas = quotas
        self._run_quota = run_quota

    @property
    def namespace(self) -> Namespace:
        """Whose verbs these are."""
        return self._namespace

    def _because(self, what: str) -> str:
        """What happened, with the author's own reason behind it."""
        return f"{what}: {self._author.reason}" if self._author.reason else what
