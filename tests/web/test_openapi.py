"""The document of the API: complete, consistent with itself and with what is answered."""

import re
from collections.abc import Iterator
from inspect import getsource
from typing import Any

import msgspec
import pytest

from fencepost.operations.operation import VERSION_FIELD, Operation
from fencepost.web.application import describe, operations
from fencepost.web.live import hub, messages
from fencepost.web.live.described import EVENTS
from fencepost.web.openapi import PROBLEM_SCHEMA
from fencepost.web.problems import KINDS
from tests.web.house import Web

DOCUMENT = describe()
DOCUMENTED = {
    operation["operationId"]: (path, method, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}
OPERATIONS = {one.name: one for one in operations()}
every_operation = pytest.mark.parametrize("one", OPERATIONS.values(), ids=list(OPERATIONS))
SCHEMA_WORDS = {
    *("type", "title", "description", "properties", "required", "items", "additionalProperties", "examples"),
    *("propertyNames", "maxProperties"),
    *(
        "anyOf",
        "$ref",
        "default",
        "enum",
        "format",
        "pattern",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
    ),
    *("minItems", "maxItems"),
}


def schemas(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A schema and all within it."""
    yield schema
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", [])]
    inner += [schema["items"]] if "items" in schema else []
    for one in inner:
        yield from schemas(one)


def references(value: Any) -> Iterator[str]:
    match value:
        case dict():
            yield from ([value["$ref"]] if "$ref" in value else [])
            for one in value.values():
                yield from references(one)
        case list():
            for one in value:
                yield from references(one)


async def test_it_is_served_to_every_token(web: Web) -> None:
    answer = await web.get("/api/v1/openapi.json")
    assert answer.headers["content-type"] == "application/json"
    assert answer.body == DOCUMENT
    assert DOCUMENT["openapi"].startswith("3.1.")


def test_every_reference_leads_somewhere_and_every_schema_is_used() -> None:
    known = {f"#/components/schemas/{name}" for name in DOCUMENT["components"]["schemas"]}
    assert set(references(DOCUMENT)) == known


@pytest.mark.parametrize("name", DOCUMENT["components"]["schemas"])
def test_a_schema_uses_words_of_json_schema_and_requires_only_what_it_has(name: str) -> None:
    for schema in schemas(DOCUMENT["components"]["schemas"][name]):
        assert set(schema) <= SCHEMA_WORDS, schema
        assert set(schema.get("required", ())) <= set(schema.get("properties", ()))
    assert DOCUMENT["components"]["schemas"][name]["description"]


@every_operation
def test_a_body_says_that_it_takes_no_unknown_field(one: Operation[Any, Any, Any]) -> None:
    if one.has_body:
        sent = DOCUMENTED[one.name][2]["requestBody"]["content"]["application/json"]["schema"]
        assert sent["additionalProperties"] is False
    assert one.request.__struct_config__.forbid_unknown_fields


@every_operation
def test_an_example_fits_its_schema(one: Operation[Any, Any, Any]) -> None:
    if one.has_body:
        of_path = dict.fromkeys(one.in_path, "7")
        read = {one.name: one.type for one in msgspec.structs.fields(one.request)}
        named = {name: msgspec.convert(text, read[name], strict=False) for name, text in of_path.items()}
        msgspec.convert({**one.example, **named}, one.request)
        said = DOCUMENTED[one.name][2]["requestBody"]["content"]["application/json"]
        assert said.get("example", {}) == one.example
    else:
        assert not one.example


@every_operation
def test_every_operation_is_at_its_place(one: Operation[Any, Any, Any]) -> None:
    path, method, said = DOCUMENTED[one.name]
    assert (path, method) == (f"/api/v1{one.path}", one.method.lower())
    named = {parameter["name"]: parameter["in"] for parameter in said["parameters"]}
    assert {name for name, place in named.items() if place == "path"} == set(one.in_path)
    assert ("If-Match" in named) == (VERSION_FIELD in one.request.__struct_fields__)


def test_no_two_operations_share_a_place() -> None:
    assert len({(one.method, one.path) for one in OPERATIONS.values()}) == len(operations())


@pytest.mark.parametrize("name", DOCUMENTED)
def test_an_operation_says_what_it_does_and_what_may_go_wrong(name: str) -> None:
    _, method, operation = DOCUMENTED[name]
    assert operation["summary"]
    assert operation["description"]
    statuses = set(operation["responses"])
    assert {"200", "405", "500"} <= statuses
    assert ("401" in statuses) == (operation.get("security") != [])
    if method == "post":
        assert {"400", "404", "408", "413", "415", "422", "429", "503"} <= statuses


def test_every_kind_of_problem_is_documented() -> None:
    examples = {
        kind
        for _, _, operation in DOCUMENTED.values()
        for response in operation["responses"].values()
        for kind in response["content"].get("application/problem+json", {}).get("examples", {})
    }
    assert examples == {one.name for one in KINDS}
    types: Any = PROBLEM_SCHEMA["properties"]
    assert len(types["type"]["enum"]) == len(KINDS)


def test_every_event_that_a_stream_may_send_is_documented() -> None:
    _, _, said = DOCUMENTED["events"]
    sent = set(re.findall(r'event\("(\w+)"', f"{getsource(messages)}{getsource(hub)}"))
    assert sent == set(EVENTS)
    assert all(f"`{name}`:" in said["description"] for name in EVENTS)
