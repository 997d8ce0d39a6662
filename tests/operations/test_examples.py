"""Every operation has a place of its own, and an example of its body that can be asked."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost.operations.catalogue import all_operations
from fencepost.operations.operation import Operation
from fencepost.operations.wire import Parts, from_call

OPERATIONS = all_operations()
IN_PATHS = {"fire_time": "2026-03-01T00:00:00Z", "run_key": "invoices#2026-03-01T00:00:00Z#3"}
IN_QUERIES = dict.fromkeys(("triggers.next", "triggers.explain"), (("expression", "30 2 * * *"),))


def names(operation: Operation[Any, Any, Any]) -> str:
    return operation.name


def test_no_name_and_no_place_is_taken_twice() -> None:
    places = [(one.method, one.path) for one in OPERATIONS]
    assert len(set(places)) == len(places)
    assert len({one.name for one in OPERATIONS}) == len(OPERATIONS)


@pytest.mark.parametrize("operation", OPERATIONS, ids=names)
def test_what_is_asked_in_the_example_can_be_asked(operation: Operation[Any, Any, Any]) -> None:
    path = {name: IN_PATHS.get(name, "1") for name in operation.in_path}
    query = IN_QUERIES.get(operation.name, ())
    from_call(operation, Parts(path, query, if_match='"v1"', body=operation.example))
