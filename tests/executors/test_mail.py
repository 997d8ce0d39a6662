"""E-mail over a real conversation with a server."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from email import message_from_bytes

import pytest

from fencepost.errors import InvalidSettings, PermanentFailure, RetryableFailure
from fencepost.executors.mail import Mail, MailServer, parse_mail_server, send
from tests.executors.mail_server import mail_server

MAIL = Mail(("ops@example.org", "anna@example.org"), "2 runs\n are dead", "report#1: böse\n", "notify#1")


async def test_a_message_is_handed_over_with_an_id_that_a_repeat_has_too() -> None:
    async with mail_server() as box:
        server = parse_mail_server(f"smtp://bot:geheim%21%21@127.0.0.1:{box.port}", "cron@example.org")
        for _ in range(2):
            await asyncio.to_thread(send, server, MAIL)
    first, second = (message_from_bytes(one.encode("latin-1")) for one in box.messages)
    assert first["Message-ID"] == second["Message-ID"]
    assert first["Message-ID"].endswith("@example.org>")
    assert (first["Subject"], first["From"]) == ("2 runs are dead", "cron@example.org")
    assert first["To"] == "ops@example.org, anna@example.org"
    assert "böse" in first.get_payload(decode=True).decode()  # type: ignore[union-attr]
    assert [one.partition(" ")[0] for one in box.recipients[:2]] == [
        "TO:<ops@example.org>",
        "TO:<anna@example.org>",
    ]
    assert box.logins[0] == "PLAIN " + b64encode(b"\0bot\0geheim!!").decode()


async def test_a_refusal_for_good_is_not_retried_and_another_is() -> None:
    async with mail_server("451 later", "554 no") as box:
        server = parse_mail_server(f"smtp://127.0.0.1:{box.port}")
        with pytest.raises(RetryableFailure, match="451"):
            await asyncio.to_thread(send, server, MAIL)
        with pytest.raises(PermanentFailure, match="554"):
            await asyncio.to_thread(send, server, MAIL)
    with pytest.raises(RetryableFailure, match="ConnectionRefusedError"):
        await asyncio.to_thread(send, server, MAIL)


async def test_a_password_is_not_sent_in_clear_over_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MailServer, "is_near", property(lambda self: False))
    async with mail_server() as box:
        server = parse_mail_server(f"smtp://bot:geheimnis@127.0.0.1:{box.port}")
        with pytest.raises(PermanentFailure, match="offers no TLS"):
            await asyncio.to_thread(send, server, MAIL)
    assert (box.logins, box.messages) == ([], [])


@pytest.mark.parametrize("url", ["mail.example.org", "http://x", "smtp://", "smtp://h:port", "smtp://h/path"])
def test_a_setting_that_is_no_server_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(InvalidSettings, match="smtp: expected smtp://user:password@host:port") as refused:
        parse_mail_server(url)
    assert "example" not in str(refused.value)


def test_ports_are_those_of_the_schemes() -> None:
    assert parse_mail_server("smtp://h").port == 587
    assert (parse_mail_server("smtps://h").port, parse_mail_server("smtps://h").tls) == (465, True)
    assert "geheim" not in repr(parse_mail_server("smtps://bot:geheimnis@h"))
