"""Whether this process traces."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

    from fencepost.telemetry.traces.tracing import Tracing

_tracing: Tracing | None = None


def tracing() -> Tracing | None:
    """What makes spans here; None where nothing does."""
    return _tracing


def is_on() -> bool:
    """Whether it is worth to gather what only a trace needs."""
    return _tracing is not None


def switch_on(provider: TracerProvider | None = None) -> None:
    """Trace with this provider, or with the process's own if there is one. Where OpenTelemetry has not been
    imported yet there is no provider either, and it is not imported here."""
    global _tracing
    if provider is None and "opentelemetry.trace" not in sys.modules:
        return
    from fencepost.telemetry.traces.tracing import Tracing, provider_here

    provider = provider or provider_here()
    if provider is None:
        _tracing = None
    elif _tracing is None or _tracing.provider is not provider:
        _tracing = Tracing(provider)


def switch_off() -> None:
    """Make no more spans; the provider is left as it is."""
    global _tracing
    _tracing = None
