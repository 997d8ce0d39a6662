"""Settings: environment and file → one frozen value, related limits checked together, once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from difflib import get_close_matches
from typing import Any

from fencepost.errors import InvalidDuration, InvalidSettings
from fencepost.model.durations import parse_duration
from fencepost.model.identifiers import DEFAULT_NAMESPACE, DEFAULT_QUEUE, Namespace, Queue, checked_name
from fencepost.model.lease import LeaseTerms

DEFAULT_STORE = "sqlite:///fencepost.db"
PREFIX = "FENCEPOST_"


@dataclass(frozen=True)
class Settings:
    """Everything a process can be told. Names end in their unit; seconds also take "5m" or "1h30m"."""

    store: str = DEFAULT_STORE
    leases: str = ""
    """Where leases live; empty: in the store itself."""
    namespace: Namespace = DEFAULT_NAMESPACE
    shards: int = 8
    """How many slices a new store is cut into."""

    horizon_s: float = 60.0
    """How far ahead ticks are written."""
    plan_every_s: float = 5.0
    plan_schedules_max: int = 500
    plan_ticks_max: int = 1_000
    plan_runs_max: int = 5_000

    lease_ttl_s: float = 10.0
    lease_renew_deadline_s: float = 6.0
    lease_retry_period_s: float = 3.0
    lease_margin_s: float = 1.0

    queues: tuple[Queue, ...] = (DEFAULT_QUEUE,)
    concurrency: int = 20
    poll_s: float = 5.0
    """The net under the wake-ups: how long a worker sleeps at most."""
    heartbeat_every_s: float = 5.0
    heartbeat_timeout_s: float = 30.0
    finish_batch_max: int = 500
    finish_delay_s: float = 0.002
    grace_s: float = 10.0
    """How long a stopping process waits for what it runs."""

    reap_every_s: float = 5.0
    reap_batch_max: int = 500
    retention_s: float = timedelta(days=30).total_seconds()
    tidy_every_s: float = 60.0
    tidy_batch_max: int = 1_000
    skew_warning_s: float = 1.0
    pool_max: int = 5
    lease_terms: LeaseTerms = field(init=False, repr=False)

    def __post_init__(self) -> None:
        checked_name("namespace", self.namespace)
        for queue in self.queues:
            checked_name("queue", queue)
        for one in fields(self):
            value = getattr(self, one.name, None)
            if isinstance(value, int | float) and value <= 0:
                raise InvalidSettings(f"{one.name} {value:g}: expected more than 0")
        terms = LeaseTerms(
            ttl_s=self.lease_ttl_s,
            renew_deadline_s=self.lease_renew_deadline_s,
            retry_period_s=self.lease_retry_period_s,
            margin_s=self.lease_margin_s,
        )
        object.__setattr__(self, "lease_terms", terms)
        self._check_together()

    def _check_together(self) -> None:
        takeover_s = self.lease_ttl_s + self.lease_retry_period_s * self.lease_terms.jitter
        _require(
            self.horizon_s > takeover_s + self.plan_every_s,
            f"horizon_s {self.horizon_s:g} must exceed a takeover plus one planning pass "
            f"({takeover_s + self.plan_every_s:g}), or a lost leader makes ticks late",
        )
        _require(
            self.heartbeat_timeout_s >= 2 * self.heartbeat_every_s,
            f"heartbeat_timeout_s {self.heartbeat_timeout_s:g} must be at least twice "
            f"heartbeat_every_s {self.heartbeat_every_s:g}, or one lost heartbeat costs a run",
        )
        _require(
            self.plan_ticks_max <= self.plan_runs_max,
            "plan_ticks_max must not exceed plan_runs_max",
        )


def settings_from(
    environment: Mapping[str, str] | None = None,
    file: Mapping[str, Any] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Settings:
    """Defaults, then the file, then the environment, then what the caller says."""
    environment = os.environ if environment is None else environment
    values: dict[str, Any] = {}
    for name, value in (file or {}).items():
        values[name] = _read(name, value, name)
    for name in _names():
        text = environment.get(PREFIX + name.upper())
        if text is not None:
            values[name] = _read(name, text, PREFIX + name.upper())
    for name, value in (overrides or {}).items():
        if value is not None:
            values[name] = _read(name, value, name)
    return Settings(**values)


def changed_settings(settings: Settings, overrides: Mapping[str, Any]) -> Settings:
    """The settings with what the caller says instead; None leaves one as it is."""
    values = {name: _read(name, value, name) for name, value in overrides.items() if value is not None}
    return replace(settings, **values)


def _names() -> list[str]:
    return [one.name for one in fields(Settings) if one.init]


def _read(name: str, value: Any, where: str) -> Any:
    """The value in the setting's own type, or one line that says what was expected."""
    default = getattr(Settings, name, None)
    if name not in _names():
        near = get_close_matches(name, _names(), n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; known: {', '.join(_names())}"
        raise InvalidSettings(f"unknown setting {name!r}{hint}")
    try:
        if name == "queues":
            names = value.split(",") if isinstance(value, str) else value
            return tuple(Queue(one.strip()) for one in names)
        if isinstance(default, int):
            return _whole(value)
        if isinstance(default, float):
            return _seconds(value)
        return str(value)
    except (ValueError, TypeError, AttributeError, InvalidDuration) as error:
        raise InvalidSettings(f"{where} = {value!r}: {error}") from None


def _whole(value: Any) -> int:
    if isinstance(value, str) and value.strip().lstrip("-").isdecimal():
        return int(value)
    if type(value) is int:
        return value
    raise TypeError("expected a whole number")


def _seconds(value: Any) -> float:
    """Seconds from a number, as a text too, or from a length of time."""
    if isinstance(value, str):
        with suppress(ValueError):
            value = float(value)
    return parse_duration(value).total_seconds()


def _require(holds: bool, complaint: str) -> None:
    if not holds:
        raise InvalidSettings(complaint)
