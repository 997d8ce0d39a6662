"""The provider that `set_up` makes, and an exporter that logs its failures briefly."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from fencepost.telemetry.logs import Log
from fencepost.version import VERSION

DEFAULT_SERVICE = "fencepost"
WORDY = ("opentelemetry.exporter.otlp.proto.http.trace_exporter", "opentelemetry.sdk._shared_internal")
"""Loggers that have a line for every span that is lost and every try to send it."""


class BriefExporter(SpanExporter):
    """Sends spans, and says when that stops working and when it works again."""

    def __init__(self, sender: SpanExporter, log: Log) -> None:
        self.is_down = False
        self._sender = sender
        self._log = log

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Called by the one thread that sends."""
        sent = self._sender.export(spans)
        if sent is not SpanExportResult.SUCCESS and not self.is_down:
            self._log.warning("spans cannot be delivered and are lost; the runs go on")
        elif sent is SpanExportResult.SUCCESS and self.is_down:
            self._log.info("spans are delivered again")
        self.is_down = sent is not SpanExportResult.SUCCESS
        return sent

    def shutdown(self) -> None:
        self._sender.shutdown()


class OwnProvider:
    """The process's provider for as long as it lives."""

    def __init__(self, log: Log) -> None:
        for name in WORDY:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._exporter = BriefExporter(OTLPSpanExporter(), log)
        self._provider = TracerProvider(resource=_resource(), shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(self._exporter))
        trace.set_tracer_provider(self._provider)

    @property
    def is_down(self) -> bool:
        """Whether the last spans could not be delivered."""
        return self._exporter.is_down

    def shutdown(self) -> None:
        """Send what waits; as long as that takes."""
        self._provider.shutdown()


def _resource() -> Resource:
    """Who writes these spans: as OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say, or this program."""
    ours = {SERVICE_VERSION: VERSION}
    if not _is_named():
        ours[SERVICE_NAME] = DEFAULT_SERVICE
    return Resource.create(ours)


def _is_named() -> bool:
    told = os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return bool(os.environ.get("OTEL_SERVICE_NAME")) or f"{SERVICE_NAME}=" in told
