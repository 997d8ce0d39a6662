"""Payloads, checked by processes that lack the job's code: names, presence, plain JSON types."""

from __future__ import annotations

import json
from binascii import Error, a2b_base64
from typing import Any

from fencepost.errors import InvalidPayload
from fencepost.model.job import JobSpec, Parameter
from fencepost.model.secret import REFERENCE_PREFIX, SECRET_KINDS, SECRET_OR_NULL

PAYLOAD_BYTES_MAX = 256 * 1024
PAYLOAD_DEPTH_MAX = 64
"""Readers that show a payload go into it level by level, and must end well before Python's own limit."""

_TYPES: dict[str, tuple[type, ...]] = {
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "array": (list,),
    "object": (dict,),
}

_STRICT = json.JSONEncoder(allow_nan=False)
_NAMES = frozenset({str})
_PLAIN = frozenset({str, int, bool, type(None)})
_ESCAPED_MAX = 12
"""How much longer a character may be in JSON than in Python's own notation."""


def check_payload(job: JobSpec, payload: dict[str, Any]) -> None:
    """Refuse, in one line, what the job's signature would refuse."""
    _check_size(job, payload)
    _check_names(job, payload)
    for one in job.parameters:
        if one.name not in payload:
            continue
        value = payload[one.name]
        if one.kind in SECRET_KINDS:
            _check_reference(job, one, value)
        elif not _fits(value, one.kind):
            raise InvalidPayload(f"payload of job {job.name}: {one.name} = {value!r}: expected {one.kind}")
    if job.message is not None and job.message.body is not None:
        body_bytes(job.name, job.message.body, payload)


def body_bytes(job: str, name: str, payload: dict[str, Any]) -> bytes:
    """The bytes that a name of the payload stands for."""
    where = f"payload of job {job}: {name}"
    value = payload.get(name)
    if not isinstance(value, str):
        raise InvalidPayload(f"{where}: expected a text in Base64, the bytes to send")
    try:
        return a2b_base64(value, strict_mode=True)
    except (Error, ValueError) as error:
        raise InvalidPayload(f"{where}: expected Base64, the bytes to send: {error}") from None


def _check_names(job: JobSpec, payload: dict[str, Any]) -> None:
    known = {one.name for one in job.parameters}
    if not job.open_payload and not known.issuperset(payload):
        name = next(one for one in payload if one not in known)
        raise InvalidPayload(f"payload of job {job.name}: unknown name {name!r}; it takes {_names(job)}")
    for one in job.parameters:
        if one.required and one.name not in payload:
            raise InvalidPayload(
                f"payload of job {job.name}: {one.name!r} is missing; it takes {_names(job)}"
            )


def _check_reference(job: JobSpec, parameter: Parameter, value: Any) -> None:
    """Refuse a secret itself, which is not shown, and a name that the application did not register."""
    if value is None and parameter.kind == SECRET_OR_NULL:
        return
    where = f"payload of job {job.name}: {parameter.name}"
    if not isinstance(value, str) or not value.startswith(REFERENCE_PREFIX):
        told = f"expected a reference such as {REFERENCE_PREFIX}stripe, not the secret itself"
        raise InvalidPayload(f"{where}: {told}")
    if value.removeprefix(REFERENCE_PREFIX) not in job.secrets:
        known = ", ".join(job.secrets) or "none"
        told = "no secret of that name is registered in the application"
        raise InvalidPayload(f"{where}: {told}; registered: {known}")


def _names(job: JobSpec) -> str:
    return ", ".join(one.name for one in job.parameters) or "nothing"


def _check_size(job: JobSpec, payload: dict[str, Any]) -> None:
    if _is_small(payload):
        return
    if _is_deeper(payload, PAYLOAD_DEPTH_MAX):
        raise InvalidPayload(f"payload of job {job.name}: nested deeper than {PAYLOAD_DEPTH_MAX} levels")
    try:
        size = len(_STRICT.encode(payload))
    except (TypeError, ValueError) as error:
        raise InvalidPayload(f"payload of job {job.name}: not JSON: {error}") from None
    if size > PAYLOAD_BYTES_MAX:
        raise InvalidPayload(f"payload of job {job.name}: {size} bytes, at most {PAYLOAD_BYTES_MAX}")


def _is_small(payload: dict[str, Any]) -> bool:
    """Whether it is flat and certainly short enough, so that it need not be encoded to know its size."""
    try:
        is_flat = _PLAIN.issuperset(map(type, payload.values())) and _NAMES.issuperset(map(type, payload))
        return is_flat and len(repr(payload)) * _ESCAPED_MAX <= PAYLOAD_BYTES_MAX
    except ValueError:
        return False


def _is_deeper(value: Any, levels: int) -> bool:
    """Whether the value is nested deeper than this. It looks level by level: most payloads have one level."""
    holders = [value]
    for _ in range(levels):
        inner = [one for each in holders for one in (each.values() if isinstance(each, dict) else each)]
        holders = [one for one in inner if isinstance(one, dict | list)]
        if not holders:
            return False
    return True


def _fits(value: Any, kind: str) -> bool:
    if kind not in _TYPES or type(value) in _TYPES[kind]:
        return True
    return isinstance(value, _TYPES[kind]) and not isinstance(value, bool)
