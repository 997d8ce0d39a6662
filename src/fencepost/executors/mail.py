"""E-mail: one message to one server, in a thread.

The message has an id that is made of the run's key: a mail program shows a repeat once, where a server took
a message and its answer was lost.
"""

from __future__ import annotations

import hashlib
import smtplib
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.utils import formatdate
from ipaddress import ip_address
from urllib.parse import unquote, urlsplit

from fencepost.errors import InvalidSettings, PermanentFailure, RetryableFailure
from fencepost.telemetry.secrets import LENGTH_MIN, remember

TIMEOUT_S = 30.0
PORTS = {"smtp": 587, "smtps": 465}
EXPECTED = "expected smtp://user:password@host:port or smtps://…"


@dataclass(frozen=True)
class MailServer:
    """Where e-mail is handed over."""

    host: str
    port: int
    tls: bool
    """From the first byte; else it begins in clear, and TLS follows where the server offers it."""
    user: str = ""
    password: str = field(default="", repr=False)
    sender: str = ""

    @property
    def is_near(self) -> bool:
        """Whether it is on this host, so that a password does not leave it."""
        try:
            return self.host == "localhost" or ip_address(self.host).is_loopback
        except ValueError:
            return False


@dataclass(frozen=True)
class Mail:
    """What is sent."""

    to: Sequence[str]
    subject: str
    text: str
    key: str


def parse_mail_server(url: str, sender: str = "") -> MailServer:
    """The server behind a setting; the refusal does not repeat it, as there may be a password in it."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise InvalidSettings(f"smtp: {EXPECTED}") from None
    if parts.scheme not in PORTS or not parts.hostname or parts.path.strip("/") or parts.query:
        raise InvalidSettings(f"smtp: {EXPECTED}")
    password = unquote(parts.password or "")
    if len(password) >= LENGTH_MIN:
        remember(password)
    return MailServer(
        host=parts.hostname,
        port=port or PORTS[parts.scheme],
        tls=parts.scheme == "smtps",
        user=unquote(parts.username or ""),
        password=password,
        sender=sender or f"fencepost@{socket.gethostname()}",
    )


def send(server: MailServer, mail: Mail) -> None:
    """Hand a message over. What the server refuses for good is a permanent failure."""
    try:
        with _connected(server) as connection:
            connection.send_message(_message(server, mail))
    except smtplib.SMTPRecipientsRefused as error:
        refused = ", ".join(f"{to}: {code}" for to, (code, _) in error.recipients.items())
        raise _failure(
            [code for code, _ in error.recipients.values()], f"recipients refused: {refused}"
        ) from None
    except smtplib.SMTPResponseException as error:
        raise _failure([error.smtp_code], f"{server.host}: answers {error.smtp_code}") from None
    except (smtplib.SMTPException, OSError) as error:
        raise RetryableFailure(f"{server.host}:{server.port}: {type(error).__name__}") from None


def _connected(server: MailServer) -> smtplib.SMTP:
    trust = ssl.create_default_context()
    if server.tls:
        connection: smtplib.SMTP = smtplib.SMTP_SSL(
            server.host, server.port, timeout=TIMEOUT_S, context=trust
        )
    else:
        connection = smtplib.SMTP(server.host, server.port, timeout=TIMEOUT_S)
    try:
        connection.ehlo_or_helo_if_needed()
        if not server.tls and connection.has_extn("starttls"):
            connection.starttls(context=trust)
            connection.ehlo()
        elif not server.tls and server.password and not server.is_near:
            raise PermanentFailure(f"{server.host}: offers no TLS, and the password would be sent in clear")
        if server.user:
            connection.login(server.user, server.password)
    except BaseException:
        connection.close()
        raise
    return connection


def _message(server: MailServer, mail: Mail) -> EmailMessage:
    message = EmailMessage()
    message["From"] = server.sender
    message["To"] = ", ".join(mail.to)
    message["Subject"] = " ".join(mail.subject.split())
    message["Date"] = formatdate()
    domain = server.sender.rpartition("@")[2]
    message["Message-ID"] = f"<{hashlib.blake2b(mail.key.encode(), digest_size=16).hexdigest()}@{domain}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(mail.text)
    return message


def _failure(codes: Sequence[int], words: str) -> Exception:
    """Above 500 a server says that it will not do it later either."""
    return PermanentFailure(words) if all(code >= 500 for code in codes) else RetryableFailure(words)
