"""Spans as the SDK keeps them, asked for by what they say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


@dataclass
class KeptSpans:
    """What was written so far."""

    exporter: InMemorySpanExporter
    provider: TracerProvider

    @property
    def all(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    @property
    def verbs(self) -> list[str]:
        return [one.name.partition(" ")[0] for one in self.all]

    def only(self, verb: str, **said: Any) -> ReadableSpan:
        """The one span of its kind that says this; `attempt=1` stands for `fencepost.attempt`."""
        wanted = {f"fencepost.{name}": value for name, value in said.items()}
        found = [one for one in self.all if one.name.partition(" ")[0] == verb]
        (one,) = [one for one in found if wanted.items() <= dict(one.attributes or {}).items()]
        return one


def said(span: ReadableSpan, name: str) -> Any:
    assert span.attributes is not None
    return span.attributes.get(f"fencepost.{name}")


def place(span: ReadableSpan) -> tuple[int, int]:
    """Its trace, and its own name in it."""
    assert span.context is not None
    return span.context.trace_id, span.context.span_id


def above(span: ReadableSpan) -> tuple[int, int]:
    """The place of its parent."""
    assert span.parent is not None
    return span.parent.trace_id, span.parent.span_id
