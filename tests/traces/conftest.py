"""Traces within this process: switched on for one test, and everything that was written kept."""

from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from fencepost.telemetry import traces
from tests.traces.kept import KeptSpans
from tests.web.house import Web


@pytest.fixture
def spans() -> Iterator[KeptSpans]:
    """The spans of a provider that the program has set up for itself."""
    kept = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    traces.switch_on(provider)
    yield KeptSpans(kept, provider)
    traces.switch_off()


@pytest.fixture(autouse=True)
def untraced_after_the_test() -> Iterator[None]:
    yield
    traces.switch_off()


@pytest.fixture
async def web() -> Web:
    made = Web()
    await made.open()
    return made
