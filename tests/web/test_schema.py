"""The whole API, as its document says: whatever is sent, no server error and no answer of another schema."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from fencepost.web.application import describe
from tests.servers.postgres import PostgresDatabases
from tests.web.house import TOKEN
from tests.web.serving import Server

EXAMPLES_MAX = int(os.environ.get("FENCEPOST_TEST_SCHEMA_EXAMPLES", "3"))
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
# The stream of live events does not end.
SCHEMA = schemathesis.openapi.from_dict(describe()).exclude(operation_id="events")
if "FENCEPOST_TEST_SCHEMA_EXAMPLES" not in os.environ:
    # Thousands of cases, made anew in every process that collects the tests.
    SCHEMA.config.phases.update(phases=["examples", "fuzzing"])


@pytest.fixture(scope="module")
def server(postgres_server: PostgresDatabases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """On PostgreSQL, which is the store that takes the fewest texts."""
    found = Server(postgres_server.create_database())
    with found.process(Path(tmp_path_factory.mktemp("schema")), FENCEPOST_REQUESTS_PER_S="100000"):
        yield found


@pytest.fixture(scope="module")
def line(server: Server) -> Iterator[requests.Session]:
    with requests.Session() as session:
        session.headers["Authorization"] = f"Bearer {TOKEN}"
        yield session


@pytest.mark.postgres
@SCHEMA.parametrize()
@settings(
    max_examples=EXAMPLES_MAX,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)
def test_an_operation_keeps_its_word(case: Any, server: Server, line: requests.Session) -> None:
    if case.path == "/api/v1/claims" and isinstance(case.body, dict):
        case.body["wait_s"] = 0
    answer = case.call(base_url=f"http://127.0.0.1:{server.port}", session=line, timeout=60)
    case.validate_response(answer, checks=CHECKS)
