"""What the driver's exceptions mean to the rest of Fencepost.

Some of them mean that waiting does not help: they become `BrokerRefused`, with the fix. All others mean that
no good answer came: `BrokerUnavailable`. The driver reports each lost connection on its own log, several
times a second; that log is silent here unless its level was set, because our exceptions say it once. At its
most talkative it would show passwords: those lines never appear.
"""

from __future__ import annotations

import logging
import ssl

from aiokafka import errors

from fencepost.brokers.kafka.address import KafkaAddress
from fencepost.brokers.quiet import silence_driver
from fencepost.errors import BrokerRefused, BrokerUnavailable
from fencepost.model.quoting import quoted

FAULTS = (errors.KafkaError, OSError, TimeoutError)

RIGHTS = "grant the user what the guide to Kafka lists"
FIXES: dict[type[Exception], str] = {
    errors.SaslAuthenticationFailed: "correct the user or the password in the URL",
    errors.AuthenticationFailedError: "correct the user or the password in the URL",
    errors.UnsupportedSaslMechanismError: "choose another sasl_mechanism in the URL",
    errors.IllegalSaslStateError: "the server asks for no user: choose another security_protocol in the URL",
    errors.TopicAuthorizationFailedError: RIGHTS,
    errors.GroupAuthorizationFailedError: RIGHTS,
    errors.ClusterAuthorizationFailedError: RIGHTS,
    errors.InvalidGroupIdError: "choose another group",
    ssl.SSLCertVerificationError: "name the authority of the server's certificate by ssl_cafile=FILE",
}


def translated(address: KafkaAddress, error: BaseException) -> BrokerRefused | BrokerUnavailable:
    """The exception to raise instead, with the URL and the fix."""
    where = f"broker {quoted(address.shown)}"
    for kind, fix in FIXES.items():
        if isinstance(error, kind):
            return BrokerRefused(f"{where}: {brief(error)}; {fix}")
    advice = "is the server running, and are the address and the security_protocol right?"
    return BrokerUnavailable(f"{where}: {brief(error)}; {advice}")


def brief(error: BaseException) -> str:
    """The first line of what an exception says, or its name where it says nothing."""
    lines = str(error).strip().splitlines()
    if isinstance(error, TimeoutError) or not lines:
        return "no answer in time" if isinstance(error, TimeoutError) else type(error).__name__
    return lines[0].rstrip(".")[:300]


def silence() -> None:
    """Keep the driver's log from people's terminals, and passwords out of it where its level was set."""
    silence_driver("aiokafka")
    logging.getLogger("aiokafka.conn").addFilter(_shows_no_password)


def _shows_no_password(record: logging.LogRecord) -> bool:
    return "SaslAuthenticateRequest" not in record.getMessage()
