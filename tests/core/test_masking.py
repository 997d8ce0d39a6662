"""What looks like a secret is not shown, and what does not is."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable
from typing import Any

import pytest

from fencepost.core.masking import looks_secret, masked, masked_text, unmasked
from fencepost.model.masking import is_secret


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
        ('{"db_password": "a b\\"c", "x": 1}', '{"db_password": "***", "x": 1}'),
        ("{'Api-Key': 'x', 'n': 'y'}", "{'Api-Key': '***', 'n': 'y'}"),
        (r'{"body": "{\"api_token\": \"x\", \"n\": 1}"}', r'{"body": "{\"api_token\": \"***\", \"n\": 1}"}'),
        ('"pin_token": 4711, "n": 2', '"pin_token": "***", "n": 2'),
        ('{"n": 1, "password": "cut o', '{"n": 1, "password": "***"'),
        ("host=db password=s3cr3t user=a", "host=db password=*** user=a"),
        ("PGPASSWORD=s3cr3t\nLANG=C", "PGPASSWORD=***\nLANG=C"),
        ('{"name": "token", "key": "value"}', '{"name": "token", "key": "value"}'),
        ("https://host:8080/a@b", "https://host:8080/a@b"),
        ("mail anna@example.org at 10:30", "mail anna@example.org at 10:30"),
        ("a forbearer of mine", "a forbearer of mine"),
        ("nothing to hide", "nothing to hide"),
    ],
)
def test_a_text_is_masked_where_its_form_tells(text: str, shown: str) -> None:
    assert masked_text(text) == shown


CANARY = 'hunter2 it\'s #2 & "more"; hunter2'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"Config(host='db', password={CANARY!r}, n=1)", "Config(host='db', password='***', n=1)"),
        (f"{ {'password': CANARY, 'n': 1} }", "{'password': '***', 'n': 1}"),
        (f"{ {'password': 'hunter2 it' + chr(39) + 's', 'n': 1} }", "{'password': \"***\", 'n': 1}"),
        (f"{ {'token': CANARY.encode(), 'n': 1} }", "{'token': b'***', 'n': 1}"),
        (f"Config(token={CANARY.encode()!r}, n=1)", "Config(token=b'***', n=1)"),
        (json.dumps({"api_key": CANARY, "n": 1}), '{"api_key": "***", "n": 1}'),
        (json.dumps(json.dumps({"api_key": CANARY, "n": 1})), r'"{\"api_key\": \"***\", \"n\": 1}"'),
        (json.dumps(json.dumps(json.dumps({"pwd": CANARY}))), r'"\"{\\\"pwd\\\": \\\"***\\\"}\""'),
        (json.dumps(f"{ {'password': CANARY} }"), "\"{'password': '***'}\""),
        (json.dumps({"pwd": "hunter2\\"}), '{"pwd": "***"}'),
        (f"password='{CANARY}' n=1", "password='***' n=1"),
        (f"PASSWORD={shlex.quote(CANARY)} n=1", "PASSWORD='***' n=1"),
        (
            f"Command {['x', '--password=' + CANARY, '-v']} failed",
            "Command ['x', '--password=***', '-v'] failed",
        ),
        ("PASSWORD=p&hunter2#hunter2;hunter2 n=1", "PASSWORD=*** n=1"),
        ("Config(n=1,password=hunter2", "Config(n=1,password=***"),
        ('{"dsn":"host=db password=hunter2","n":1}', '{"dsn":"host=db password=***","n":1}'),
        (
            r'"{\"dsn\":\"host=db password=hunter2\",\"n\":1}"',
            r'"{\"dsn\":\"host=db password=***\",\"n\":1}"',
        ),
        ("https://h/?a[token]=hunter2&page=2#top", "https://h/?a[token]=***&page=2#top"),
        ("page=2&a%5Btoken%5D=hunter2&n=1", "page=2&a%5Btoken%5D=***&n=1"),
        ('{"hook":"https://h/?token=hunter2","n":1}', '{"hook":"https://h/?token=***","n":1}'),
        ("{'password': 'hunter2 cut\nnext", "{'password': '***'\nnext"),
        ("DB_PASSWORD_PROD=hunter2 api_key_2=hunter2", "DB_PASSWORD_PROD=*** api_key_2=***"),
        ("password=222222 otp_token=222222", "password=*** otp_token=***"),
        ("token=1234567890123", "token=***"),
        ("sent bearer hunter2hunter2", "sent bearer ***"),
        ("Authorization: Bearer hunter", "Authorization: Bearer ***"),
    ],
)
def test_no_piece_of_a_secret_is_left_whatever_it_holds(text: str, shown: str) -> None:
    assert masked_text(text) == shown
    assert masked_text(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "done prompt_tokens=1532 sessions=7",
        '{"total_tokens": 1532, "signature_valid": true, "token": null}',
        "signature_valid=true token=None, session=7 token=0.25",
        "tokens=in,out session_engine=postgresql cookie_domain=example.com token_audience='invoices-eu'",
        "PASSWORD_FILE=/run/secrets/db secret_name=stripe run_key=nightly#2026-11-16T00:00:00Z",
        "PWD=/srv/app OLDPWD=/srv",
        "running basic checks",
        "Basic checks",
        "the bearer authentication scheme",
        "if token == other or token==other",
        "password= is not set",
    ],
)
def test_what_is_no_secret_is_left(text: str) -> None:
    assert masked_text(text) == text


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("PGPASSWORD", "sesame", True),
        ("DB_PASSWORD_1", "sesame", True),
        ("sessionId", "sesame", True),
        ("AWS_SECRET_ACCESS_KEY", "sesame", True),
        ("PIN_TOKEN", "4711", True),
        ("RETRY_TOKEN", "4711", False),
        ("TOKENS", "sesame", False),
        ("SESSION_ENGINE", "postgresql", False),
        ("COOKIE_DOMAIN", "example.com", False),
        ("PWD", "/srv/app", False),
    ],
)
def test_the_last_word_of_a_name_decides(name: str, value: str, found: bool) -> None:
    assert is_secret(name, value) is found


def spent(text: str) -> float:
    """What masking costs, at best of a few times."""
    return min(timed(lambda: masked_text(text)) for _ in range(5))


def timed(call: Callable[[], object]) -> float:
    begun = time.process_time()
    call()
    return time.process_time() - begun


def test_a_text_without_secrets_costs_little_more_than_to_read_it() -> None:
    """Every line of the log is masked, and most hold nothing."""
    text = "a" * 2_000_000
    assert masked_text(text) == text
    read = min(timed(text.lower) for _ in range(5))
    assert spent(text) < 60 * read


@pytest.mark.parametrize("head", ['"token":"', "token='", "password=", ""])
@pytest.mark.parametrize(
    "piece",
    [
        *(
            "a",
            "\\",
            '"token":"',
            '"token":"\\',
            r"\"token\":\"",
            "'",
            "a://b:",
            "token",
            " a",
            "://",
            "token=",
        ),
        *(
            "token=\\",
            "password='",
            "'\"'\"'",
            "'\\''",
            "bearer ",
            "authorization:",
            "token0",
            "[",
            "?token=",
        ),
        *('"a" ', "token='x'\n", '"token=5" ', "token=5,", "@", "=", '\\"', "'a"),
    ],
)
def test_no_text_takes_for_ever(piece: str, head: str) -> None:
    """Where every character may begin a name or an address, each must not be looked at from every other."""
    begun = time.process_time()
    masked_text(f"{head}{piece * (200_000 // len(piece))}\n")
    assert time.process_time() - begun < 10


def test_letters_before_an_address_do_not_hide_its_password() -> None:
    assert "sesame" not in masked_text("x" * 100 + "https://anna:sesame@example.org")


KEPT: dict[str, Any] = {
    "region": "eu",
    "token": "s3cret",
    "pins": {"pin_token": 1234, "on": True},
    "hosts": ["https://anna:pw@db/x", "plain"],
}


def test_what_comes_back_as_it_was_shown_is_what_is_kept() -> None:
    assert masked(KEPT) != KEPT
    assert unmasked(masked(KEPT), KEPT) == KEPT


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"region": "us"}, {"region": "us"}),
        ({"token": "other"}, {"token": "other"}),
        ({"token": None}, {"token": None}),
        ({"fresh_token": "***"}, {"fresh_token": "***"}),
        ({"region": "***"}, {"region": "***"}),
        ({"hosts": ["https://anna:***@db/x"]}, {"hosts": ["https://anna:***@db/x"]}),
        (
            {"hosts": ["https://anna:***@elsewhere/x", "plain"]},
            {"hosts": ["https://anna:***@elsewhere/x", "plain"]},
        ),
    ],
)
def test_what_was_changed_stays_changed_and_takes_no_secret_elsewhere(
    change: dict[str, Any], found: dict[str, Any]
) -> None:
    assert unmasked({**masked(KEPT), **change}, KEPT) == {**KEPT, **found}


def test_what_was_taken_out_is_gone() -> None:
    assert unmasked({"region": "eu"}, KEPT) == {"region": "eu"}
