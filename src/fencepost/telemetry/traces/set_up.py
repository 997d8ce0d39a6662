"""A provider of our own, made of the standard `OTEL_*` variables.

It is made where the variables name a place for spans and the program has no provider of its own. Spans wait
in a bounded queue and are sent by a thread. Spans beyond the queue, or that cannot be delivered, are lost,
and cost the runs nothing. One line says that spans are being lost, and one that they are delivered again. A
failure to set it up is one line too, and stops no work.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from threading import Thread
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from fencepost.telemetry.logs import Log
from fencepost.telemetry.secrets import remember

if TYPE_CHECKING:
    from fencepost.telemetry.traces.provider import OwnProvider

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
HEADERS = ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
PROTOCOL = "http/protobuf"
DEFAULT_PLACE = "http://localhost:4318"
FAREWELL_S = 3.0
"""How long the end of a process waits for its last spans to be sent."""
DOWN_FAREWELL_S = 0.5
"""The same where the last spans could not be delivered."""

_log = Log("traces")
_own: OwnProvider | None = None


def set_up(environment: Mapping[str, str] | None = None) -> None:
    """Give the process a provider, if that is wanted and it has none."""
    environment = os.environ if environment is None else environment
    place = wanted_place(environment)
    if place is None:
        return
    try:
        from fencepost.telemetry.traces.tracing import provider_here

        if provider_here() is not None:
            _log.info("traces go where the application sends its own")
            return
        _hide_headers(environment)
        _provide()
    except ImportError:
        _log.warning('no traces: they need the extra: pip install "fencepost[otel]"')
    except Exception as error:
        _log.warning("no traces: the OTEL_ variables cannot be used", error=repr(error))
    else:
        _log.info("traces", to=_shown(place))


def _provide() -> None:
    global _own
    from fencepost.telemetry.traces.provider import OwnProvider

    _own = OwnProvider(_log)


def close() -> None:
    """Send what waits, for a moment at most; then there are no more spans."""
    global _own
    own, _own = _own, None
    if own is None:
        return
    sending = Thread(target=own.shutdown, name="fencepost-last-spans", daemon=True)
    sending.start()
    sending.join(DOWN_FAREWELL_S if own.is_down else FAREWELL_S)


def wanted_place(environment: Mapping[str, str]) -> str | None:
    """Where spans are to go; None where they are not wanted, or wanted in a way that we do not have."""
    said = {name: value.strip() for name, value in environment.items() if name.startswith("OTEL_")}
    kind = said.get("OTEL_TRACES_EXPORTER", "")
    place = next((said[one] for one in ENDPOINTS if said.get(one)), None)
    if said.get("OTEL_SDK_DISABLED", "").lower() == "true" or kind == "none" or not (kind or place):
        return None
    if kind not in ("", "otlp"):
        _log.warning("no traces: OTEL_TRACES_EXPORTER: expected otlp or none", found=kind)
        return None
    protocol = next((said[one] for one in PROTOCOLS if said.get(one)), PROTOCOL)
    if protocol != PROTOCOL:
        _log.warning(f"no traces: OTEL_EXPORTER_OTLP_PROTOCOL: expected {PROTOCOL}", found=protocol)
        return None
    return place or DEFAULT_PLACE


def _hide_headers(environment: Mapping[str, str]) -> None:
    """The value of the headers is often a credential."""
    for name in HEADERS:
        for header in environment.get(name, "").split(","):
            value = unquote(header.partition("=")[2]).strip()
            if value:
                remember(value)


def _shown(place: str) -> str:
    """Without what may be secret in a URL."""
    try:
        parts = urlsplit(place)
        port = "" if parts.port is None else f":{parts.port}"
    except ValueError:
        return "(unreadable)"
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"
