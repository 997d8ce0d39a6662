"""`[jobs.NAME] http = { … }`: HTTP calls as jobs."""

from __future__ import annotations

from fencepost.app.http import http_work
from fencepost.executors.http.call import WORDS
from fencepost.manifest.table import Table
from fencepost.model.job import Parameter
from fencepost.ports.executor import Executor


def read_http(table: Table) -> tuple[Executor, tuple[Parameter, ...]]:
    """A call and the names that its body takes from a payload."""
    inner = table.table("http")
    inner.only(*WORDS)
    if "url" not in inner:
        inner.refuse("url", 'is missing; write for example: http = { url = "https://example.org/hook" }')
    with inner.blaming():
        return http_work(**{word: inner.raw(word) for word in inner})
