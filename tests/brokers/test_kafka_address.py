"""The URL of a Kafka cluster, and what is said about a wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest

from fencepost.brokers.kafka.address import read_address
from fencepost.errors import InvalidSettings

SECRET = "s3cret"
LOGIN = f"kafka://alice:{SECRET}@one,two:9093"


def test_no_part_of_the_url_is_lost() -> None:
    address = read_address(
        f"{LOGIN}?security_protocol=SASL_PLAINTEXT&sasl_mechanism=SCRAM-SHA-512&partitions=3&replication_factor=2"
    )
    assert address.servers == "one:9092,two:9093"
    assert (address.partitions, address.replication_factor) == (3, 2)
    assert address.security == {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "alice",
        "sasl_plain_password": SECRET,
    }
    assert SECRET not in address.shown


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("kafka://", "it names no host"),
        ("kafka://host/topic", "a topic is named where it is used"),
        ("kafka://host?partition=3", "unknown parameter"),
        ("kafka://host?partitions=0", "expected a number from 1"),
        ("kafka://host?replication_factor=many", "expected a number from 1"),
        ("kafka://host?max_request_size=100", "expected more than 32768 bytes"),
        (LOGIN, "a user needs security_protocol=SASL_SSL"),
        ("kafka://host?security_protocol=SASL_SSL", "needs user:password@ before the host"),
        ("kafka://host?security_protocol=TLS", "expected PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        (f"{LOGIN}?security_protocol=SASL_SSL&sasl_mechanism=GSSAPI", "expected PLAIN, SCRAM-SHA-256"),
        ("kafka://host?ssl_cafile=ca.pem", "ssl_cafile needs security_protocol=SSL"),
        ("kafka://host?security_protocol=SSL&ssl_cafile=/nowhere/ca.pem", "there is no file"),
    ],
)
def test_a_url_that_cannot_be_used_is_not_accepted(url: str, complaint: str) -> None:
    with pytest.raises(InvalidSettings, match=complaint) as refusal:
        read_address(url)
    assert SECRET not in str(refusal.value)


def test_a_file_that_is_no_certificate_is_not_accepted(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.write_text("nothing")
    with pytest.raises(InvalidSettings, match="name files in PEM form"):
        read_address(f"kafka://host?security_protocol=SSL&ssl_cafile={file}")
