"""The reference page of the HTTP API, from its OpenAPI document."""

from __future__ import annotations

from fencepost.web.admission import AT_ONCE_MAX, REPORTS_AT_ONCE_MAX, WITHIN_S
from fencepost.web.api.claims import KNOWN_MAX, LIMIT_MAX, WAIT_MAX_S
from fencepost.web.application import describe
from fencepost.web.connections import CONNECTIONS_MAX
from fencepost.web.lanes import WAITING_MAX
from fencepost.web.problems import KINDS, TYPES
from fencepost.web.request_limits import BODY_BYTES_MAX, BODY_WITHIN_S

PREAMBLE = """Every answer is JSON, and so is every body. Every request but those for health shows a
credential: a token in `Authorization: Bearer TOKEN` (`fencepost token create`), or the
session of the dashboard. It has a role, `viewer`, `operator` or `admin`, and acts in its own
namespace: what is elsewhere is not there for it. One that is good everywhere chooses with the
header `Fencepost-Namespace`, and acts in the server's own without it. What is not in a schema
is refused.

A server tells all of it at `/api/v1/openapi.json` (OpenAPI 3.1): every field of what is sent and
answered, its bounds and an example of what is sent. Open it with any viewer, or make a client of it:

```
curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:8580/api/v1/openapi.json
```

- **Lists** are given in pages: `items`, and `next`, which is sent as `after` for the next page.
- **Changes** take an `Idempotency-Key` header: however often a call is repeated with it, it happens once,
  and the answer is the first one's, marked `Idempotency-Replayed: true`. A key is remembered for a day.
  They also take a `reason`, for the audit log. What makes a token or a link takes no key: its answer is
  kept nowhere, and a repeated call makes another one.
- **Edits** of what has versions take `If-Match` with the `ETag` of what was read, so that no other change
  is lost. Any other call refuses the header.
- **Times** are instants in UTC; where it says so also a length of time ago, such as `2h`.
- **Live**: `GET /api/v1/events`, see [the dashboard](../guides/dashboard.md).

Every verb of the command line is here but those that start something on their own machine or read files of
it: `run`, `scheduler`, `worker`, `web`, `demo`, `migrate`, `import`, `doctor` and `simulate`.

How a worker in another language uses it: [workers in other languages](../guides/other-languages.md).
"""
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
    """Every operation in one line, every kind of problem, every limit."""
    operations = [
        (operation["tags"][0], path, method.upper(), operation)
        for path, methods in describe()["paths"].items()
        for method, operation in methods.items()
    ]
    rows = [
        f"| `{method} {path}` | `{operation['operationId']}` | {operation['summary']} |"
        for _, path, method, operation in sorted(operations, key=lambda one: one[:3])
    ]
    parts = [
        f"# Over HTTP\n\n{generated}\n\n{PREAMBLE}",
        "## Operations\n",
        "| call | operation | |\n| --- | --- | --- |",
        *rows,
        "\n## Problems\n",
        _problems(),
        "## Limits\n",
        _limits(),
    ]
    return "\n".join(parts)


def _problems() -> str:
    rows = [f"| {one.status} | `{one.name}` | {one.when} |" for one in KINDS]
    head = f"`application/problem+json` (RFC 9457); `type` is `{TYPES}` and the name.\n"
    return "\n".join([head, "| status | name | when |\n| --- | --- | --- |", *rows, ""])


def _limits() -> str:
    return "\n".join(["| of | at most |\n| --- | --- |", *(f"| {of} | {most} |" for of, most in LIMITS), ""])
