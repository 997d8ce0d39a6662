"""The reference page of the HTTP API, from its OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from fencepost.web.api.claims import KNOWN_MAX, LIMIT_MAX, WAIT_MAX_S
from fencepost.web.application import describe
from fencepost.web.crowd import CONNECTIONS_MAX
from fencepost.web.doorway import BODY_BYTES_MAX, BODY_WITHIN_S
from fencepost.web.lanes import WAITING_MAX
from fencepost.web.problems import KINDS, TYPES
from fencepost.web.turns import AT_ONCE_MAX, REPORTS_AT_ONCE_MAX, WITHIN_S

PREAMBLE = """Every answer is JSON, and so is every body. Every request but those for health shows a
credential: a token in `Authorization: Bearer TOKEN` (`fencepost token create`), or the
session of the dashboard. It has a role, `viewer`, `operator` or `admin`, and acts in its own
namespace: what is elsewhere is not there for it. One that is good everywhere chooses with the
header `Fencepost-Namespace`, and acts in the server's own without it. What is not in a schema
is refused. The same as a document for programs (OpenAPI 3.1): `/api/v1/openapi.json`.

- **Lists** are given in pages: `items`, and `next`, which is sent as `after` for the next page.
- **Changes** take an `Idempotency-Key` header: however often a call is repeated with it, it happens once,
  and the answer is the first one's, marked `Idempotency-Replayed: true`. A key is remembered for a day.
  They also take a `reason`, for the audit log. What makes a token or a link takes no key: its answer is
  kept nowhere, and a repeated call makes another one.
- **Edits** of what has versions take `If-Match` with the `ETag` of what was read, so that nobody's change
  is lost. Any other call refuses the header.
- **Times** are instants in UTC; where it says so also a length of time ago, such as `2h`.
- **Live**: `GET /api/v1/events`, see [the dashboard](../guides/dashboard.md).

Every verb of the command line is here but those that start something on their own machine or read files of
it: `run`, `scheduler`, `worker`, `web`, `demo`, `migrate`, `import`, `doctor` and `simulate`.

How a worker in another language uses it: [workers in other languages](../guides/other-languages.md).
"""
FOR_ALL = ("Idempotency-Key", "Fencepost-Namespace")
"""Headers that the preamble tells of."""
LIMITS = (
    ("body", f"{BODY_BYTES_MAX // 1024} KiB, whole within {BODY_WITHIN_S:g} s"),
    ("`limit` of a claim", f"{LIMIT_MAX} runs"),
    ("`wait_s` of a claim", f"{WAIT_MAX_S:g} s"),
    ("`known` of a claim", f"{KNOWN_MAX} fences"),
    ("connections", f"{CONNECTIONS_MAX} of one server, at most half of the files that its process may open"),
    (
        "requests at work",
        f"{AT_ONCE_MAX}, and {REPORTS_AT_ONCE_MAX} reports; claims and streams are not counted",
    ),
    ("requests that wait for that", f"{WAITING_MAX}, at most {WITHIN_S:g} s each"),
)


def http_page(generated: str) -> str:
    """Every operation with its fields and examples, every kind of problem, every limit."""
    document = describe()
    schemas = document["components"]["schemas"]
    operations = [
        (method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    parts = [f"# Over HTTP\n\n{generated}\n\n{PREAMBLE}"]
    for tag in sorted({one["tags"][0] for _, _, one in operations}):
        parts += [f"## {tag}\n"]
        for method, path, operation in sorted(operations, key=lambda one: one[1]):
            if operation["tags"] == [tag]:
                parts += _operation(method, path, operation, schemas)
    parts += ["## Problems\n", _problems(), "## Limits\n", _limits()]
    return "\n".join(parts)


def _operation(method: str, path: str, operation: dict[str, Any], schemas: dict[str, Any]) -> Iterator[str]:
    yield f"### `{method} {path}`\n\n{operation['summary']}. {' '.join(operation['description'].split())}\n"
    given = [one for one in operation.get("parameters", []) if one["name"] not in FOR_ALL]
    if given:
        yield "| parameter | in | type | |\n| --- | --- | --- | --- |"
        yield from (
            f"| `{one['name']}` | {one['in']} | {_type(one['schema'])} | {_told(one)} |" for one in given
        )
        yield ""
    if "requestBody" in operation:
        yield from _body("Sent", operation["requestBody"]["content"]["application/json"], schemas)
    answered = operation["responses"]["200"]["content"]
    if "application/json" in answered:
        yield from _body("Answered", answered["application/json"], schemas)
    others = [status for status in operation["responses"] if status != "200"]
    yield f"Problems: {', '.join(others)}.\n"


def _body(title: str, content: dict[str, Any], schemas: dict[str, Any]) -> Iterator[str]:
    schema = _resolved(content["schema"], schemas)
    if not schema.get("properties"):
        return
    yield f"{title}: {schema.get('description', '')}\n"
    yield from _table(schema)
    for name, one in schema["properties"].items():
        if "items" in one and "$ref" in one["items"]:
            yield f"Each of `{name}`:\n"
            yield from _table(_resolved(one["items"], schemas))
    if "example" in content:
        yield f"```json\n{json.dumps(content['example'], indent=2)}\n```\n"


def _table(schema: dict[str, Any]) -> Iterator[str]:
    required = schema.get("required", [])
    yield "| field | type | |\n| --- | --- | --- |"
    for name, one in schema["properties"].items():
        told = [one.get("description", ""), _default(one, name in required)]
        yield f"| `{name}` | {_type(one)} | {' '.join(text for text in told if text)} |"
    yield ""


def _told(parameter: dict[str, Any]) -> str:
    told = [parameter["description"], _default(parameter["schema"], parameter["required"])]
    return " ".join(text for text in told if text)


def _default(schema: dict[str, Any], required: bool) -> str:
    if required or schema.get("default") is None:
        return "" if required else "Optional."
    return f"Optional, {json.dumps(schema['default'])}."


def _type(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type(one) for one in schema["anyOf"]))
    if "$ref" in schema:
        return "object"
    if "enum" in schema:
        return ", ".join(f"`{one}`" for one in schema["enum"])
    kind = str(schema.get("type", "any JSON"))
    bounds = [f"{schema[word]:g}" for word in ("minimum", "maximum") if abs(schema.get(word, 1e9)) < 1e9]
    longest = schema.get("maxLength", schema.get("maxItems"))
    if len(bounds) == 2:
        return f"{kind}, {bounds[0]} to {bounds[1]}"
    return f"{kind}, at most {longest}" if longest else kind


def _problems() -> str:
    rows = [f"| {one.status} | `{one.name}` | {one.when} |" for one in KINDS]
    head = f"`application/problem+json` (RFC 9457); `type` is `{TYPES}` and the name.\n"
    return "\n".join([head, "| status | name | when |\n| --- | --- | --- |", *rows, ""])


def _limits() -> str:
    return "\n".join(["| of | at most |\n| --- | --- |", *(f"| {of} | {most} |" for of, most in LIMITS), ""])


def _resolved(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in schema:
        return schema
    found: dict[str, Any] = schemas[schema["$ref"].rpartition("/")[2]]
    return found
