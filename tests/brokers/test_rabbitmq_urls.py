"""The URL of a RabbitMQ, and what is sent to it, without a server."""

from __future__ import annotations

from pathlib import Path

import pytest
from aiormq.connection import Connection
from pamqp import body, commands, frame, header

from fencepost.brokers.rabbitmq.address import read_address
from fencepost.brokers.rabbitmq.frames import content_frames, publish_frame
from fencepost.errors import InvalidSettings
from fencepost.model.message import Message


@pytest.mark.parametrize(
    ("url", "vhost", "port", "user", "password"),
    [
        ("amqp://host", "/", 5672, None, None),
        ("amqp://host/", "/", 5672, None, None),
        ("amqp://host/%2F", "/", 5672, None, None),
        ("amqp://u:p@host:5673/orders", "orders", 5673, "u", "p"),
        ("amqp://u:p%40%2F%25@host/team%2Fblue", "team/blue", 5672, "u", "p@/%"),
        ("amqps://u:p@host/", "/", 5671, "u", "p"),
        ("amqp://u:p@[::1]/", "/", 5672, "u", "p"),
    ],
)
async def test_the_driver_is_not_told_another_place_than_the_url_says(
    url: str, vhost: str, port: int, user: str | None, password: str | None
) -> None:
    address = read_address(url)
    driver = Connection(address.url)
    assert (driver.vhost, driver.url.port) == (vhost, port)
    assert (driver.url.user, driver.url.password) == (user, password)
    assert address.vhost == vhost
    assert driver.heartbeat_timeout == 10
    assert driver.connection_name == "fencepost"


async def test_no_file_of_tls_is_lost_on_the_way_to_the_driver(tmp_path: Path) -> None:
    names = {name: tmp_path / f"{name}.pem" for name in ("cafile", "certfile", "keyfile")}
    for path in names.values():
        path.touch()
    parameters = "&".join(f"{name}={path}" for name, path in names.items())
    driver = Connection(read_address(f"amqps://host/?{parameters}").url)
    certificates = driver.ssl_certs
    assert certificates.verify
    assert certificates.cafile == str(names["cafile"])
    assert (certificates.cert, certificates.key) == (str(names["certfile"]), str(names["keyfile"]))


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("amqp:///orders", "names no host"),
        ("amqp://u:s3cret@a,b/", "several hosts"),
        ("amqp://u:s3cret@host/?cafile=x", "unknown parameter"),
        ("amqps://u:s3cret@host/?cafile=/missing.pem", "there is no file"),
        ("amqp://u:s3cret@host/?heartbeat=soon", "expected seconds"),
        ("amqp://u:s3cret@host:port/", "cannot be read"),
    ],
)
def test_a_mistaken_url_is_refused_without_its_password(url: str, complaint: str) -> None:
    with pytest.raises(InvalidSettings, match=complaint) as refusal:
        read_address(url)
    assert "s3cret" not in str(refusal.value)


def test_a_password_is_not_shown() -> None:
    address = read_address("amqp://u:s3cret@host/")
    assert "s3cret" not in address.shown + repr(address) + str(address)


@pytest.mark.parametrize("size", [0, 1, 100, 101, 1_000])
def test_what_is_sent_is_not_other_than_the_driver_would_send(size: int) -> None:
    message = Message("events/orders.new", "grüße", b"x" * size, {"a": "1", "b": "世界"})
    properties = commands.Basic.Properties(
        headers=dict(message.headers), delivery_mode=2, message_id=message.id
    )
    publish = commands.Basic.Publish(exchange="events", routing_key="orders.new", mandatory=True)
    pieces = [message.body[start : start + 100] for start in range(0, size, 100)]
    expected: list[commands.Basic.Publish | header.ContentHeader | body.ContentBody] = [
        publish,
        header.ContentHeader(properties=properties, body_size=size),
        *map(body.ContentBody, pieces),
    ]
    sent = publish_frame(7, "events", "orders.new") + content_frames(7, message, 100)
    assert sent == b"".join(frame.marshal(one, 7) for one in expected)
