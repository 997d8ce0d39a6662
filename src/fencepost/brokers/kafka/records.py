"""Messages as records of Kafka, and back."""

from __future__ import annotations

from typing import Any

from fencepost.model.message import Delivery, Message

ID = "fencepost-message-id"
REASON = "fencepost-reject-reason"
REASON_LENGTH_MAX = 1_000


def headers_of(message: Message) -> list[tuple[str, bytes]]:
    """What is sent beside the body."""
    return [(ID, message.id.encode()), *((name, text.encode()) for name, text in message.headers.items())]


def key_of(message: Message) -> bytes | None:
    """What decides on the partition; without one, any will do."""
    return message.order_key.encode() or None


def delivery_of(record: Any, delivered: int, handle: object) -> Delivery:
    """A record as it is delivered. One that another client wrote is called by its place."""
    headers = {name: (value or b"").decode(errors="replace") for name, value in record.headers}
    message_id = headers.pop(ID, f"{record.topic}/{record.partition}/{record.offset}")
    return Delivery(message_id, record.value or b"", headers, delivered, handle)


def rejected(record: Any, destination: str, reason: str) -> Message:
    """The message that keeps a rejected one."""
    delivery = delivery_of(record, 1, None)
    headers = {**delivery.headers, REASON: reason[:REASON_LENGTH_MAX]}
    return Message(destination, delivery.id, delivery.body, headers, _key_of(record))


def rejected_in_short(record: Any, destination: str, reason: str) -> Message:
    """The message that says where one is that cannot be copied: its topic keeps it as long as any other."""
    where = f"{record.topic}/{record.partition}/{record.offset}"
    why = f"{reason[:REASON_LENGTH_MAX]}; too large to be copied, it is at {where}"
    return Message(destination, delivery_of(record, 1, None).id, b"", {REASON: why}, _key_of(record))


def _key_of(record: Any) -> str:
    return (record.key or b"").decode(errors="replace")
