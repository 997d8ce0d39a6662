"""What looks like a secret is not shown, and what does not is."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost.core.masking import looks_secret, masked, masked_text


@pytest.mark.parametrize(
    "name",
    [
        *("password", "PASSWORD", "db_password", "db-password", "dbPassword", "passwd", "passphrase", "pwd"),
        *("secret", "client_secret", "token", "access-token", "refreshToken", "api_key", "apiKey", "API-KEY"),
        *(
            "Authorization",
            "credentials",
            "private_key",
            "privateKey",
            "aws_secret_access_key",
            "accessKeyId",
        ),
        *("cookie", "Set-Cookie", "session", "session_id", "X-Signature"),
    ],
)
def test_a_name_that_tells_of_a_secret_is_seen(name: str) -> None:
    assert looks_secret(name)


@pytest.mark.parametrize("name", ["region", "key", "keys", "user", "month", "path", "author", "pass", ""])
def test_an_ordinary_name_is_not(name: str) -> None:
    assert not looks_secret(name)


@pytest.mark.parametrize(
    ("payload", "shown"),
    [
        ({"region": "eu", "month": 3}, {"region": "eu", "month": 3}),
        ({"password": "x"}, {"password": "***"}),
        ({"password": ""}, {"password": "***"}),
        ({"pin_token": 1234}, {"pin_token": "***"}),
        ({"token": None, "has_password": True}, {"token": None, "has_password": True}),
        ({"db": {"user": "a", "passwd": "x"}}, {"db": {"user": "a", "passwd": "***"}}),
        ({"accounts": [{"api_key": "x"}, "y"]}, {"accounts": [{"api_key": "***"}, "y"]}),
        (
            {"credentials": {"user": "a", "ids": [1, None]}},
            {"credentials": {"user": "***", "ids": ["***", None]}},
        ),
        ({"tokens": ["a", "b"]}, {"tokens": ["***", "***"]}),
        ({"url": "https://a:b@c/d"}, {"url": "https://a:***@c/d"}),
        ({"headers": [["X", "Bearer abc"]]}, {"headers": [["X", "Bearer ***"]]}),
    ],
)
def test_a_payload_is_masked_and_keeps_its_shape(payload: dict[str, Any], shown: dict[str, Any]) -> None:
    before = repr(payload)
    assert masked(payload) == shown
    assert repr(payload) == before


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://app:s3cr3t@db:5432/shop", "postgresql://app:***@db:5432/shop"),
        ("redis://:s3cr3t@cache/0", "redis://:***@cache/0"),
        ("https://a:p@ss:w@host/x", "https://a:***@host/x"),
        ("two: amqp://a:1@x and amqp://b:2@y", "two: amqp://a:***@x and amqp://b:***@y"),
        ("https://host/path?a=1&token=abc&b=2", "https://host/path?a=1&token=***&b=2"),
        ("https://host/?api_key=abc#top", "https://host/?api_key=***#top"),
        ("Authorization: Bearer eyJ.a-b_c=", "Authorization: Bearer ***"),
        ("basic dXNlcjpw", "basic ***"),
        ("https://host:8080/a@b", "https://host:8080/a@b"),
        ("mail anna@example.org at 10:30", "mail anna@example.org at 10:30"),
        ("a forbearer of mine", "a forbearer of mine"),
        ("nothing to hide", "nothing to hide"),
    ],
)
def test_a_text_is_masked_where_its_form_tells(text: str, shown: str) -> None:
    assert masked_text(text) == shown
