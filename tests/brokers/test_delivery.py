"""Runs that are sent by a broker, and what processors say of them; the broker is in memory, the store too."""

from __future__ import annotations

from fencepost.model.identifiers import DEFAULT_NAMESPACE

NS = DEFAULT_NAMESPACE
WAIT_S = 10.0
