"""The page about HTTP jobs says what is so."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fencepost.core.retry_after import RETRY_AFTER_MAX, parse_retry_after
from fencepost.errors import PermanentFailure, RetryableFailure
from fencepost.executors.http.answers import Answer, failure_of
from fencepost.executors.http.call import METHODS, WORDS, http_call
from fencepost.executors.http.headers import GO_ANYWHERE
from fencepost.executors.http.limits import ANSWER_BYTES_MAX, PORTS_DEFAULT, TOLERANCE_DEFAULT
from fencepost.manifest import load
from fencepost.model.durations import format_duration
from fencepost.model.identifiers import JobName

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guides" / "http-jobs.md").read_text("utf-8")
RECEIVER = (ROOT / "examples" / "webhook_receiver.py").read_text("utf-8")


def test_the_pages_manifest_is_one(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    file = tmp_path / "jobs.toml"
    file.write_text(text)
    app = load(str(file), {})
    assert [one.name for one in app.jobs[JobName("ping")].spec.parameters] == ["customer"]
    for word in WORDS:
        assert re.search(rf"^{word} = ", text, re.MULTILINE), word
    for method in METHODS:
        assert method in text


def test_the_pages_defaults_are_the_defaults() -> None:
    call = http_call("https://example.org/")
    assert format_duration(call.deadline) == "30s"
    assert call.answer_bytes_max == ANSWER_BYTES_MAX == 64 * 1024
    assert PORTS_DEFAULT == (80, 443)
    assert (call.redirects, call.method) == (0, "POST")
    assert format_duration(TOLERANCE_DEFAULT) == "5m"
    assert format_duration(RETRY_AFTER_MAX) == "1d"
    for name in GO_ANYWHERE:
        assert f"`{name.title()}`" in PAGE


RETRIED = re.findall(r"^\| (408.*?) \| failed, retried", PAGE, re.MULTILINE)[0]


@pytest.mark.parametrize("status", range(400, 600))
def test_the_pages_table_of_answers_holds(status: int) -> None:
    answer = Answer(status, b"", False, "", None, None)
    failure = failure_of(answer, datetime(2026, 3, 1, tzinfo=UTC), parse_retry_after)
    retried = str(status) in RETRIED or (status >= 500 and "5xx" in RETRIED)
    assert type(failure) is (RetryableFailure if retried else PermanentFailure)


def test_the_receiver_is_as_short_as_the_page_says() -> None:
    lines = int(re.findall(r"does this in (\d+) lines", PAGE)[0])
    assert abs(len(RECEIVER.splitlines()) - lines) <= 5
