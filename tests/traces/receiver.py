"""A receiver of spans: OTLP over HTTP on loopback, as a collector has it, and what has come in so far."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

PATIENCE_S = 90.0
KEY = "fencepost.run_key"
VERBS = ("plan", "dispatch", "run", "attempt")


@dataclass(frozen=True)
class Seen:
    """One span as it came over the wire."""

    service: str
    trace: str
    span: str
    parent: str
    title: str
    start_ns: int
    end_ns: int
    is_error: bool
    said: dict[str, Any]
    events: tuple[str, ...]
    links: tuple[str, ...]

    @property
    def verb(self) -> str:
        return self.title.partition(" ")[0]


@dataclass
class Receiver:
    """Everything that was received, and a way to wait for it."""

    port: int
    spans: list[Seen] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    arrived: threading.Condition = field(default_factory=threading.Condition)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def of(self, run_key: str) -> list[Seen]:
        """The spans of one run, in the order of their beginnings."""
        found = [one for one in self.spans if one.said.get(KEY) == run_key]
        return sorted(found, key=lambda one: (one.start_ns, one.end_ns))

    def until(self, found: Callable[[Receiver], bool]) -> None:
        """Wait for spans until these have come."""
        with self.arrived:
            came = self.arrived.wait_for(lambda: found(self), PATIENCE_S)
        assert came, "\n".join(f"{one.service} {one.title} {one.said.get(KEY)}" for one in self.spans)

    def until_run(self, job: str, verbs: Iterable[str] = VERBS) -> list[Seen]:
        """Wait for a run of the job that has spans of all these verbs, of a verb given twice two, and return
        them. Each process sends its spans by itself, so those of an early attempt may come last."""
        self.until(lambda _: self._whole(job, verbs) is not None)
        key = self._whole(job, verbs)
        assert key is not None
        return self.of(key)

    def _whole(self, job: str, verbs: Iterable[str]) -> str | None:
        """A run that has ended, with all that comes before."""
        wanted = Counter(verbs)
        ended = [one.said[KEY] for one in self.spans if one.title == f"run {job}"]
        whole = (key for key in ended if wanted <= Counter(one.verb for one in self.of(key)))
        return next(whole, None)

    def take(self, body: bytes, headers: dict[str, str]) -> None:
        request = ExportTraceServiceRequest.FromString(body)
        with self.arrived:
            self.headers.append(headers)
            self.bodies.append(body)
            for resource in request.resource_spans:
                service = _said(resource.resource.attributes).get("service.name", "")
                for scope in resource.scope_spans:
                    self.spans += [_seen(service, one) for one in scope.spans]
            self.arrived.notify_all()


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver that listens until the end."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            assert self.path == "/v1/traces"
            receiver.take(body, {name.lower(): value for name, value in self.headers.items()})
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            pass

    with serving(Handler) as port:
        receiver = Receiver(port)
        yield receiver


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """A small server on loopback; its port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _seen(service: str, span: Span) -> Seen:
    return Seen(
        service=service,
        trace=span.trace_id.hex(),
        span=span.span_id.hex(),
        parent=span.parent_span_id.hex(),
        title=span.name,
        start_ns=span.start_time_unix_nano,
        end_ns=span.end_time_unix_nano,
        is_error=span.status.code == Status.STATUS_CODE_ERROR,
        said=_said(span.attributes),
        events=tuple(one.name for one in span.events),
        links=tuple(one.trace_id.hex() for one in span.links),
    )


def _said(attributes: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in attributes:
        assert isinstance(one, KeyValue)
        kind = one.value.WhichOneof("value")
        found[one.key] = getattr(one.value, kind) if kind else None
    return found
