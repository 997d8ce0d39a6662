"""The OpenAPI document, from the operations themselves.

Parameters and bodies come from the operations' structs, prose from their functions. The problems that an
operation may answer with follow from its properties.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from fencepost.model.identifiers import NAME_LENGTH_MAX
from fencepost.operations.operation import API, VERSION_FIELD, Operation
from fencepost.operations.words import NAME_PATTERN
from fencepost.version import VERSION
from fencepost.web import problems
from fencepost.web.live.described import described as described_stream
from fencepost.web.problems import KINDS, MEDIA_TYPE, TYPES, Kind, Problem

REF = "#/components/schemas/{name}"
JSON = "application/json"
DESCRIPTION = (
    "Every question and every change that people and programs have, and the protocol of workers in other "
    "languages. A credential acts in its own namespace; what is elsewhere is not there for it."
)
FOR_ALL = (
    *(problems.UNAUTHORIZED, problems.FORBIDDEN, problems.METHOD, problems.INVALID, problems.REFUSED),
    *(problems.NOT_FOUND, problems.TOO_MANY, problems.UNEXPECTED, problems.STORE_AWAY, problems.SLOW_ANSWER),
    problems.TURNED_AWAY,
)
FOR_BODIES = (problems.MALFORMED, problems.SLOW, problems.TOO_LARGE, problems.NOT_JSON)
FOR_CHANGES = (problems.CONFLICT, problems.UNKNOWN_JOB, problems.QUOTA)
FOR_KEYS = (problems.KEY_PENDING, problems.KEY_MISUSED)
FOR_VERSIONS = (problems.PRECONDITION, problems.CHANGED)
FOR_WORKERS = (problems.RUN_LOST, problems.UNKNOWN_JOB)
FOR_STREAMS = (
    *(problems.UNAUTHORIZED, problems.NOT_FOUND, problems.METHOD, problems.INVALID, problems.TOO_MANY),
    *(problems.UNEXPECTED, problems.STORE_AWAY),
)
IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "A key of your own: the call happens once, however often it is repeated with it.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200},
}
NAMESPACE = {
    "name": "Fencepost-Namespace",
    "in": "header",
    "required": False,
    "description": "Where, for a credential that is good everywhere; the server's own unless given. "
    "For any other, its own is the only one that there is.",
    "schema": {
        "type": "string",
        "minLength": 1,
        "maxLength": NAME_LENGTH_MAX,
        "pattern": NAME_PATTERN,
    },
}
IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "required": True,
    "description": "The ETag of what you read, so that no other change is lost; or `*`.",
    "schema": {"type": "string", "examples": ['"v3"', "*"]},
}
PROBLEM_SCHEMA = {
    "type": "object",
    "title": "Problem",
    "description": "An answer that is not a success (RFC 9457). The last word of `type` says which.",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "enum": [f"{TYPES}{one.name}" for one in KINDS]},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "For people."},
        "errors": {
            "type": "array",
            "description": "Of an invalid request: where, and what.",
            "items": {
                "type": "object",
                "required": ["field", "message"],
                "properties": {"field": {"type": "string"}, "message": {"type": "string"}},
            },
        },
        "problem_id": {"type": "string", "description": "Of an unexpected error: its name in the log."},
    },
}


def build_document(operations: Iterable[Operation[Any, Any, Any]]) -> dict[str, Any]:
    """OpenAPI 3.1, as plain JSON values."""
    described = Described(list(operations))
    paths: dict[str, dict[str, Any]] = {
        "/healthz": _health(
            *("ok", "Whether the process lives", "Always `ok`; the store is not asked."),
            (problems.METHOD, problems.UNEXPECTED),
        ),
        "/readyz": _health(
            *("ready", "Whether the process can serve"),
            "`ready` where the store answers and the process is not about to stop, a 503 else.",
            (problems.METHOD, problems.UNEXPECTED, problems.STORE_AWAY, problems.TURNED_AWAY),
        ),
    }
    paths[f"{API}/events"] = described_stream(_problem_responses(FOR_STREAMS))
    for one in described.operations:
        paths.setdefault(f"{API}{one.path}", {})[one.method.lower()] = described.operation(one)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Fencepost", "version": VERSION, "description": DESCRIPTION},
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": {**dict(sorted(described.used().items())), "Problem": PROBLEM_SCHEMA},
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": "__Host-fencepost"},
            },
        },
        "security": [{"token": []}, {"session": []}],
    }


class Described:
    """The operations, with the schemas of all that they ask and answer."""

    def __init__(self, operations: list[Operation[Any, Any, Any]]) -> None:
        self.operations = operations
        types = dict.fromkeys(kind for one in operations for kind in (one.request, one.response))
        _, found = msgspec.json.schema_components(list(types), ref_template=REF)
        self._schemas: dict[str, Any] = found
        for one in found.values():
            if "description" in one:
                one["description"] = " ".join(one["description"].split())
        self._asked = {one.request.__name__ for one in operations}

    def operation(self, one: Operation[Any, Any, Any]) -> dict[str, Any]:
        """One entry of the document."""
        summary, _, prose = one.prose.partition("\n")
        found: dict[str, Any] = {
            "operationId": one.name,
            "tags": [one.tag],
            "summary": summary.rstrip("."),
            "description": f"{' '.join(prose.split())} Needs the role `{one.role}`.".strip(),
            "parameters": list(self._parameters(one)),
            "responses": {"200": self._success(one), **_problem_responses(_problems_of(one))},
        }
        if one.has_body:
            found["requestBody"] = self._body(one)
        return found

    def used(self) -> Mapping[str, Any]:
        """The schemas that something refers to; what is asked stands with its operation."""
        return {name: one for name, one in self._schemas.items() if name not in self._asked}

    def _parameters(self, one: Operation[Any, Any, Any]) -> Iterable[dict[str, Any]]:
        for name, schema in self._fields(one).items():
            if name in one.in_path or (not one.has_body and name != VERSION_FIELD):
                place = "path" if name in one.in_path else "query"
                yield {
                    "name": name,
                    "in": place,
                    "required": place == "path" or name in self._required(one),
                    "description": schema.get("description", ""),
                    "schema": {word: value for word, value in schema.items() if word != "description"},
                }
        if VERSION_FIELD in self._fields(one):
            yield IF_MATCH
        if _takes_key(one):
            yield IDEMPOTENCY_KEY
        yield NAMESPACE

    def _body(self, one: Operation[Any, Any, Any]) -> dict[str, Any]:
        taken = {*one.in_path, VERSION_FIELD}
        schema = {
            "type": "object",
            "description": self._schemas[one.request.__name__].get("description", ""),
            "properties": {name: kind for name, kind in self._fields(one).items() if name not in taken},
            "required": [name for name in self._required(one) if name not in taken],
            "additionalProperties": False,
        }
        content: dict[str, Any] = {"schema": schema}
        if one.example:
            content["example"] = one.example
        return {"required": bool(schema["required"]), "content": {JSON: content}}

    def _success(self, one: Operation[Any, Any, Any]) -> dict[str, Any]:
        content: dict[str, Any] = {"schema": {"$ref": REF.format(name=one.response.__name__)}}
        said = self._schemas[one.response.__name__].get("description", "")
        response: dict[str, Any] = {"description": said, "content": {JSON: content}}
        if one.versioned:
            response["headers"] = {"ETag": {"schema": {"type": "string"}, "description": "For `If-Match`."}}
        return response

    def _fields(self, one: Operation[Any, Any, Any]) -> dict[str, Any]:
        found: dict[str, Any] = self._schemas[one.request.__name__].get("properties", {})
        return found

    def _required(self, one: Operation[Any, Any, Any]) -> list[str]:
        found: list[str] = self._schemas[one.request.__name__].get("required", [])
        return found


def _health(word: str, summary: str, prose: str, kinds: Iterable[Kind]) -> dict[str, Any]:
    schema = {"type": "object", "required": ["status"], "properties": {"status": {"type": "string"}}}
    response = {
        "description": "One word.",
        "content": {JSON: {"schema": schema, "example": {"status": word}}},
    }
    return {
        "get": {
            "operationId": f"health.{word}",
            "tags": ["health"],
            "summary": summary,
            "description": prose,
            "security": [],
            "responses": {"200": response, **_problem_responses(kinds)},
        }
    }


def _takes_key(one: Operation[Any, Any, Any]) -> bool:
    """An operation that makes a secret takes none: its answer is not kept, so it cannot be given again."""
    return one.changes and not one.secret


def _problems_of(one: Operation[Any, Any, Any]) -> tuple[Kind, ...]:
    return (
        *FOR_ALL,
        *(FOR_BODIES if one.has_body else ()),
        *(FOR_CHANGES if one.changes else ()),
        *(FOR_KEYS if _takes_key(one) else ()),
        *(FOR_VERSIONS if VERSION_FIELD in one.request.__struct_fields__ else ()),
        *(FOR_WORKERS if one.tag == "worker" else ()),
    )


def _problem_responses(kinds: Iterable[Kind]) -> dict[str, Any]:
    found: dict[int, list[Kind]] = {}
    for kind in sorted(dict.fromkeys(kinds), key=lambda one: one.status):
        found.setdefault(kind.status, []).append(kind)
    return {str(status): _problem_response(status, ones) for status, ones in found.items()}


def _problem_response(status: int, kinds: list[Kind]) -> dict[str, Any]:
    examples = {one.name: {"value": msgspec.json.decode(Problem(one, f"{one.when}").body)} for one in kinds}
    response: dict[str, Any] = {
        "description": "; ".join(f"`{one.name}`: {one.when}" for one in kinds),
        "content": {
            MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}, "examples": examples},
        },
    }
    if status in (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS):
        seconds = {"schema": {"type": "integer"}, "description": "Seconds."}
        response["headers"] = {"Retry-After": seconds}
    return response
