"""Signatures: computed once more by hand, and checked as a receiver does."""

from __future__ import annotations

import base64
import hashlib
import hmac
from datetime import timedelta
from pathlib import Path

import pytest

from fencepost.errors import BadSignature, RetryableFailure
from fencepost.executors.http import verify
from fencepost.executors.http.headers import webhook_id
from fencepost.executors.http.signing import signed_headers
from fencepost.guards.http import header_form
from tests.executors.http.calls import NOW, at
from tests.executors.http.servers import said, served
from tests.executors.runs import make_run

KEY_BYTES = bytes(range(32))
WEBHOOK_SECRET = "whsec_" + base64.b64encode(KEY_BYTES).decode()
PLAIN_SECRET = "correct horse battery"
STAMP = "1772366407"
BODY = b'{"month":3}'
ID = "beat#2026-03-01T12:00:00Z#3"


def by_hand(key: bytes, content: bytes) -> str:
    return "v1," + base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()


async def test_a_call_carries_one_signature_for_each_secret(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NEW", WEBHOOK_SECRET)
    (tmp_path / "old").write_text(f"{PLAIN_SECRET}\n")
    async with served() as server:
        await at(server.port, secret=["env:NEW", f"file:{tmp_path}/old"]).execute(make_run({"month": 3}))
    (request,) = server.requests
    content = f"{ID}.{STAMP}.".encode() + BODY
    assert request.body == BODY
    assert request.headers["webhook-id"] == ID
    assert request.headers["webhook-timestamp"] == STAMP
    assert request.headers["webhook-signature"].split(" ") == [
        by_hand(KEY_BYTES, content),
        by_hand(PLAIN_SECRET.encode(), content),
    ]
    for known in (WEBHOOK_SECRET, PLAIN_SECRET, [PLAIN_SECRET, "an older one"]):
        assert verify(request.headers, request.body, known, NOW) == ID


def test_a_vector_that_does_not_change() -> None:
    headers = signed_headers("msg_1", NOW, b"hello", [WEBHOOK_SECRET])
    assert headers == {
        "webhook-id": "msg_1",
        "webhook-timestamp": STAMP,
        "webhook-signature": by_hand(KEY_BYTES, b"msg_1.1772366407.hello"),
    }
    assert headers["webhook-signature"] == "v1,4LNZLz5z+xK7eFMy1wk7ONhSkinu7kTh36syusmTWbU="


SPOILED: list[tuple[str, str | None]] = [
    ("webhook-id", "msg_2"),
    ("webhook-id", None),
    ("webhook-id", "msg.1"),
    ("webhook-timestamp", "1772366408"),
    ("webhook-timestamp", "later"),
    ("webhook-timestamp", "-1772366407"),
    ("webhook-timestamp", "١٧٧٢٣٦٦٤٠٧"),
    ("webhook-timestamp", None),
    ("webhook-signature", None),
    ("webhook-signature", "v1,"),
    ("webhook-signature", "v1,äöü"),
    ("webhook-signature", "v1"),
]


@pytest.mark.parametrize(("name", "value"), SPOILED)
def test_a_spoiled_header_is_refused(name: str, value: str | None) -> None:
    headers = signed_headers("msg_1", NOW, BODY, [PLAIN_SECRET])
    assert verify(headers, BODY, PLAIN_SECRET, NOW) == "msg_1"
    spoiled = {key: text for key, text in {**headers, name: value}.items() if text is not None}
    with pytest.raises(BadSignature):
        verify(spoiled, BODY, PLAIN_SECRET, NOW)


def test_another_body_secret_or_version_is_refused() -> None:
    headers = signed_headers("msg_1", NOW, BODY, [PLAIN_SECRET])
    for body, secrets in ((b"{}", [PLAIN_SECRET]), (BODY, ["wrong horse"]), (BODY, [])):
        with pytest.raises(BadSignature, match="no signature fits"):
            verify(headers, body, secrets, NOW)
    other = {**headers, "webhook-signature": headers["webhook-signature"].replace("v1,", "v2,")}
    with pytest.raises(BadSignature):
        verify(other, BODY, PLAIN_SECRET, NOW)


@pytest.mark.parametrize(("off_s", "fine"), [(300, True), (-300, True), (301, False), (-301, False)])
def test_what_is_too_old_or_too_early_is_refused(off_s: int, fine: bool) -> None:
    headers = signed_headers("msg_1", NOW, BODY, [PLAIN_SECRET])
    then = NOW + timedelta(seconds=off_s)
    if fine:
        verify(headers, BODY, PLAIN_SECRET, then)
    else:
        with pytest.raises(BadSignature, match="from now"):
            verify(headers, BODY, PLAIN_SECRET, then)


def test_names_of_headers_come_in_any_case() -> None:
    headers = signed_headers("msg_1", NOW, BODY, [PLAIN_SECRET])
    assert verify({name.title(): value for name, value in headers.items()}, BODY, PLAIN_SECRET, NOW)


def test_the_boundary_between_id_and_body_cannot_be_moved() -> None:
    """`a` . `5` . `6.b` and `a.5` . `6` . `b` are the same bytes: so an id holds no dot."""
    headers = signed_headers("a", NOW, f"{STAMP}.b".encode(), [PLAIN_SECRET])
    moved = {**headers, "webhook-id": f"a.{STAMP}"}
    with pytest.raises(BadSignature):
        verify(moved, b"b", PLAIN_SECRET, NOW)
    assert webhook_id("daily.report#1") == "daily%2Ereport#1"


FORMS = [
    ("beat#2026-03-01T12:00:00Z#3", "beat#2026-03-01T12:00:00Z#3"),
    ("job#a b", "job#a%20b"),
    ("job#100%", "job#100%25"),
    ("job#é\u202e", "job#%C3%A9%E2%80%AE"),
    ("job#\r\nX-Evil: 1", "job#%0D%0AX-Evil:%201"),
    ("job#\0\x7f", "job#%00%7F"),
    ("job#\ud800", "job#%ED%A0%80"),
]


@pytest.mark.parametrize(("key", "form"), FORMS)
def test_any_run_key_is_a_legal_value_of_a_header(key: str, form: str) -> None:
    assert header_form(key) == form
    assert all(0x21 <= ord(one) <= 0x7E for one in form)


async def test_nothing_is_sent_where_a_secret_cannot_be_had(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("GONE", raising=False)
    monkeypatch.setenv("EMPTY", "")
    monkeypatch.setenv("SHORT", "sh-ort!")
    monkeypatch.setenv("NOT_BASE64", "whsec_!!!!!!!!")
    (tmp_path / "binary").write_bytes(b"\xff" * 40)
    references = ["env:GONE", "env:EMPTY", "env:SHORT", "env:NOT_BASE64", f"file:{tmp_path}/gone"]
    async with served() as server:
        for reference in (*references, f"file:{tmp_path}/binary", f"file:{tmp_path}"):
            with pytest.raises(RetryableFailure, match="secret"):
                await at(server.port, secret=reference).execute(make_run())
    assert server.connections == 0


async def test_a_rotated_secret_counts_from_the_next_call_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async with served(said(200)) as server:
        call = at(server.port, secret="env:ROTATED", headers={"Authorization": "env:ROTATED"})
        for secret in ("the first one", "the second one"):
            monkeypatch.setenv("ROTATED", secret)
            await call.execute(make_run())
    for request, secret in zip(server.requests, ("the first one", "the second one"), strict=True):
        assert verify(request.headers, request.body, secret, NOW)
        assert request.headers["authorization"] == secret
