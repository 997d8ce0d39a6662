"""Operations asked as over HTTP: every question goes there and back as texts, and so does every answer."""

from __future__ import annotations

from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote

import msgspec
import pytest
from msgspec import Struct

from fencepost.errors import UsageError
from fencepost.operations.operation import Operation
from fencepost.operations.wire import Parts, from_call, to_call

Q = TypeVar("Q", bound=Struct)
A = TypeVar("A", bound=Struct)


async def asked(control: Any, operation: Operation[Any, Q, A], question: Q) -> A:
    """The answer, as whoever asked over HTTP reads it."""
    arrived = there_and_back(operation, question)
    assert arrived == question
    answer = await operation.carry_out(control, arrived)
    return msgspec.json.decode(msgspec.json.encode(answer), type=operation.response)


async def refused(control: Any, operation: Operation[Any, Q, A], question: Q) -> str:
    """What is said to a question that must be refused."""
    with pytest.raises(UsageError) as caught:
        await asked(control, operation, question)
    return str(caught.value)


def there_and_back(operation: Operation[Any, Q, Any], question: Q) -> Q:
    """What arrives of a question."""
    call = to_call(operation, question)
    segments = zip(operation.path.split("/"), call.path.split("/"), strict=True)
    path = {one.strip("{}"): unquote(text) for one, text in segments if one.startswith("{")}
    body = {} if call.body is None else msgspec.json.decode(call.body)
    query = parse_qsl(call.query, keep_blank_values=True)
    return from_call(operation, Parts(path, query, call.if_match, body))
