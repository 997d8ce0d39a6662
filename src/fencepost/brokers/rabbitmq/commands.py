"""Commands for people: how what is missing is made by hand."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping

from fencepost.brokers.rabbitmq.address import VHOST_DEFAULT

QUORUM = {"x-queue-type": "quorum"}


def create_queue(vhost: str, queue: str, arguments: Mapping[str, str | int]) -> str:
    """One like those that we make."""
    shown = shlex.quote(json.dumps(dict(arguments)))
    return f"{_admin(vhost)} declare queue name={queue} durable=true arguments={shown}"


def create_exchange(vhost: str, exchange: str) -> str:
    """One that routes by patterns, as most do; the kind is for people to choose."""
    return f"{_admin(vhost)} declare exchange name={exchange} type=topic durable=true"


def bind_queue(vhost: str, exchange: str, key: str) -> str:
    """Where no queue of the exchange takes the key. Which one should is for people to say."""
    return f"{_admin(vhost)} declare binding source={exchange} destination=QUEUE routing_key={key}"


def _admin(vhost: str) -> str:
    return "rabbitmqadmin" if vhost == VHOST_DEFAULT else f"rabbitmqadmin --vhost={shlex.quote(vhost)}"
