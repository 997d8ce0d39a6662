"""The one place that knows OpenTelemetry's API: drawings in, spans out, under the names that we give them.

A provider chooses the names of its spans itself. That of the SDK asks a generator of ids, and each of its
tracers has one: ours gets another, which gives out the name that is wanted at that moment and asks the
provider's own for anything else. A provider of another make may not have one. Its spans then hang under the
computed names as under a remote parent: they are in the right trace, and their own names are chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.trace import Link, NonRecordingSpan, Span, SpanContext, SpanKind, TraceFlags
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.trace.status import Status, StatusCode

from fencepost.model.masking import masked_text
from fencepost.telemetry.secrets import mask
from fencepost.telemetry.traces.ids import SpanName
from fencepost.telemetry.traces.spans import Drawing, Fault, Side
from fencepost.version import VERSION

SCOPE = "fencepost"
KINDS: Final = {
    Side.SENDS: SpanKind.PRODUCER,
    Side.RECEIVES: SpanKind.CONSUMER,
    Side.WITHIN: SpanKind.INTERNAL,
}
WITHOUT_SPANS = (trace.ProxyTracerProvider, trace.NoOpTracerProvider)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_HEADERS = TraceContextTextMapPropagator()

_WANTED: ContextVar[SpanName | None] = ContextVar("fencepost_span_name", default=None)
"""How the span that is being made is to be called."""


class NamedIds:
    """A generator of ids that gives out the wanted one, and the other generator's where none is wanted."""

    def __init__(self, others: Any) -> None:
        self._others = others

    def generate_span_id(self) -> int:
        wanted = _WANTED.get()
        return int(self._others.generate_span_id()) if wanted is None else wanted.span

    def generate_trace_id(self) -> int:
        wanted = _WANTED.get()
        return int(self._others.generate_trace_id()) if wanted is None else wanted.trace

    def is_trace_id_random(self) -> bool:
        """A sampler may use a digest like a random number; but this flag would say that it is random."""
        return False


class Tracing:
    """Spans of one provider."""

    def __init__(self, provider: trace.TracerProvider) -> None:
        self.provider = provider
        self.has_failed = False
        """Whether it was told that spans of it are lost."""
        self._tracer = cast("Any", provider.get_tracer(SCOPE, VERSION))
        self._sampler: Any = getattr(provider, "sampler", None)
        ids = getattr(self._tracer, "id_generator", None)
        self._names = ids is not None
        if ids is not None and not isinstance(ids, NamedIds):
            self._tracer.id_generator = NamedIds(ids)

    def samples(self, trace_id: int) -> bool:
        """Whether this trace is one of those that are sent: all processes with one sampler agree."""
        if self._sampler is None:
            return True
        return bool(self._sampler.should_sample(contexts.Context(), trace_id, SCOPE).decision.is_sampled())

    def start(self, drawing: Drawing, links: Sequence[Link] = ()) -> Span:
        """A span that goes on until it is ended; of a trace that is not sampled, only its name."""
        if not self.samples(drawing.name.trace):
            return NonRecordingSpan(self._remote(drawing.name.trace, drawing.name.span))
        wanted = _WANTED.set(drawing.name)
        try:
            span: Span = self._tracer.start_span(
                drawing.title,
                context=self._above(drawing.name),
                kind=KINDS[drawing.side],
                attributes={
                    name: _shown(value) if isinstance(value, str) else value
                    for name, value in drawing.attributes.items()
                },
                links=links,
                start_time=_nanoseconds(drawing.start),
            )
        finally:
            _WANTED.reset(wanted)
        return span

    def write(self, drawing: Drawing, *, linked: bool = False) -> None:
        """A whole span; with `linked` it points to what its caller is part of."""
        if self.samples(drawing.name.trace):
            span = self.start(drawing, _present() if linked else ())
            finish(span, drawing.end, drawing.fault)

    def carried(self, name: SpanName) -> dict[str, str]:
        """The headers that make their receiver a child of a span, whether the span exists already or not."""
        return headers_of(self._remote(name.trace, name.span))

    def follow(self, name: SpanName) -> dict[str, str]:
        """As `carried`; and this task becomes part of that span, as of a remote one. The span is not
        written."""
        found = self._remote(name.trace, name.span)
        make_current(NonRecordingSpan(found))
        return headers_of(found)

    def _above(self, name: SpanName) -> contexts.Context:
        """Where a span hangs. A first one that cannot be named hangs under the name that it should have."""
        parent = name.parent or (0 if self._names else name.span)
        if not parent:
            return contexts.Context()
        return trace.set_span_in_context(
            NonRecordingSpan(self._remote(name.trace, parent)), contexts.Context()
        )

    def _remote(self, trace_id: int, span_id: int) -> SpanContext:
        flags = TraceFlags.SAMPLED if self.samples(trace_id) else TraceFlags.DEFAULT
        return SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(flags))


def provider_here() -> trace.TracerProvider | None:
    """The process's provider; None where the program has set up none that makes spans."""
    provider = trace.get_tracer_provider()
    return None if isinstance(provider, WITHOUT_SPANS) else provider


def finish(span: Span, end: datetime | None, fault: Fault | None) -> None:
    """End a span, at that moment, with what went wrong in it."""
    if fault is not None:
        error = _shown(fault.error)
        span.set_status(Status(StatusCode.ERROR, error))
        if fault.raised:
            told = {"exception.type": fault.kind, "exception.message": error}
            more = {} if fault.detail is None else {"exception.stacktrace": _shown(fault.detail)}
            span.add_event("exception", {**told, **more}, timestamp=_nanoseconds(end))
    span.end(end_time=_nanoseconds(end))


def make_current(span: Span) -> None:
    """Until this task ends, whatever it starts is part of the span."""
    contexts.attach(trace.set_span_in_context(span))


def present_trace() -> str | None:
    """The trace that this context is part of."""
    found = trace.get_current_span().get_span_context()
    return f"{found.trace_id:032x}" if found.is_valid else None


def headers_of(found: SpanContext) -> dict[str, str]:
    """A span's context as W3C headers: `traceparent`, and `tracestate` where there is one."""
    headers = {"traceparent": f"00-{found.trace_id:032x}-{found.span_id:016x}-{found.trace_flags:02x}"}
    return headers | ({"tracestate": found.trace_state.to_header()} if found.trace_state else {})


@contextmanager
def under(headers: Mapping[str, str]) -> Iterator[None]:
    """Within, whatever is started is part of the span that these headers name."""
    token = contexts.attach(_HEADERS.extract(headers))
    try:
        yield
    finally:
        contexts.detach(token)


def _present() -> tuple[Link, ...]:
    found = trace.get_current_span().get_span_context()
    return (Link(found),) if found.is_valid else ()


def _shown(text: str) -> str:
    """The text without the secrets that this process knows, or that look like one."""
    return masked_text(mask(text))


def _nanoseconds(moment: datetime | None) -> int | None:
    return None if moment is None else (moment - _EPOCH) // _MICROSECOND * 1_000
