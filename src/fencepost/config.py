"""Settings: environment and file → one frozen value, related limits checked together, once."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from difflib import get_close_matches
from typing import Any

from fencepost.errors import InvalidDuration, InvalidSettings
from fencepost.model.durations import parse_duration
from fencepost.model.identifiers import DEFAULT_NAMESPACE, DEFAULT_QUEUE, Namespace, Queue, checked_name
from fencepost.model.lease import LeaseTerms
from fencepost.model.networks import is_network, without_mapping
from fencepost.model.quotas import Quota, Quotas
from fencepost.model.sign_in_provider import provider_faults
from fencepost.model.variables import PREFIX, check_variables

DEFAULT_STORE = "sqlite:///fencepost.db"
RUN_LOG_LEAST = 4096
SESSION_IDLE_LEAST_S = 300.0
"""Uses are written down once a minute: a shorter one would sign out who is busy."""
WEIGHT_MAX = 1_000
ALL_OTHERS = "all other namespaces"
NODE_NAME_MAX = 64
NODE_NAME = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9_.-]{{0,{NODE_NAME_MAX - 1}}}")


@dataclass(frozen=True)
class Settings:
    """Everything a process can be told. Names end in their unit; seconds also take "5m" or "1h30m"."""

    store: str = field(default=DEFAULT_STORE, repr=False)
    """Where the ledger is."""
    leases: str = field(default="", repr=False)
    """Where leases live; empty: in the store itself."""
    broker: str = field(default="", repr=False)
    """Which message broker processors are reached by; empty: none."""
    namespace: Namespace = DEFAULT_NAMESPACE
    """Whose schedules and runs this process works with."""
    node: str = ""
    """What this process is called, before a part that no other has; empty: its host and process id."""
    token: str = field(default="", repr=False)
    """The token of an admin of everything over HTTP; empty: only tokens of the store are accepted."""
    session_lasts_s: float = timedelta(days=7).total_seconds()
    """How long a session lasts at most."""
    session_idle_s: float = timedelta(hours=12).total_seconds()
    """How long a session lasts without being used."""
    oidc_issuer: str = ""
    """At which OpenID provider people can sign in, as in https://login.example.org; empty: at none."""
    oidc_client_id: str = ""
    """What the provider calls this server."""
    oidc_client_secret: str = field(default="", repr=False)
    """Where the client secret is kept, as in env:NAME or file:/path; empty: the provider asks for none."""
    oidc_scopes: tuple[str, ...] = ("openid", "profile", "email")
    """What the provider is asked for."""
    oidc_claim: str = "groups"
    """Which claim says who may do what; dots lead into objects, as in realm_access.roles."""
    oidc_roles: tuple[str, ...] = ()
    """Which value of the claim gives which role, as in "admins=admin,batch=operator@batch", where @ names one
    namespace. The first that fits counts; who has none does not come in."""
    requests_per_s: float = 200.0
    """How many requests a second one credential may make, after a burst of `requests_burst`."""
    requests_burst: int = 1_000
    """How many it may make at once, when it has made none for a while."""
    trusted_proxies: tuple[str, ...] = ()
    """Which proxies are believed when they say whom they ask for: addresses and networks; empty: none."""
    shards: int = 8
    """How many slices a new store is cut into."""

    horizon_s: float = 60.0
    """How far ahead ticks are written."""
    plan_every_s: float = 5.0
    """How often the planner looks for what to write."""
    plan_schedules_max: int = 500
    """How many schedules one pass of the planner plans."""
    plan_ticks_max: int = 1_000
    """How many ticks of one schedule it writes in a pass."""
    plan_runs_max: int = 5_000
    """How many runs it writes in a pass."""

    quota_schedules: int = Quotas.schedules
    """How many schedules a namespace may have."""
    quota_interval_s: float = Quotas.interval_s
    """How short the time between two fire times of a schedule may be."""
    quota_planned_per_s: float = Quotas.planned_per_s
    """How many runs of a namespace a node plans per second; what is more is planned later. As many again it
    writes for backfills."""
    quota_enqueues_per_s: float = Quotas.enqueues_per_s
    """How many runs per second a server makes in a namespace by request."""
    quota_exceptions: tuple[str, ...] = ()
    """Quotas of single namespaces, as in "batch:planned_per_s=5000,batch:schedules=200000"."""

    lease_ttl_s: float = 10.0
    """After how long without a renewal a shard may have another leader."""
    lease_renew_deadline_s: float = 6.0
    """For how long a leader tries to renew before it steps down."""
    lease_retry_period_s: float = 4.0
    """How often a leader renews, and others look for a shard to lead."""
    lease_margin_s: float = 1.0
    """How much earlier than its lease ends a leader stops."""

    queues: tuple[Queue, ...] = (DEFAULT_QUEUE,)
    """What a worker takes, as in "mail,default", or with weights "mail:3,default:1"."""
    queue_weights: tuple[int, ...] = ()
    """Beside `queues`, how much of the worker each may have; empty: all alike."""
    ageing_s: float = 60.0
    """How long a run must wait to be worth one level of priority."""
    concurrency: int = 20
    """How many runs a worker executes at a time."""
    prefetch: int = 400
    """How many short runs a worker may claim beyond its concurrency, at most; 0: none."""
    processes: int = os.cpu_count() or 1
    """How many child processes do functions with `executor="process"`, at most."""
    commands_allowed: tuple[str, ...] = ()
    """Which programs commands may start: absolute paths, and folders ending in /; empty: any."""
    poll_s: float = 5.0
    """The net under the wake-ups: how long a worker sleeps at most."""
    heartbeat_every_s: float = 5.0
    """How often a worker says that its runs are alive."""
    heartbeat_timeout_s: float = 30.0
    """After how long without a heartbeat a run is taken from its worker."""
    finish_batch_max: int = 500
    """How many outcomes are reported in one write."""
    finish_delay_s: float = 0.002
    """How long an outcome waits for others to be reported with it."""
    run_log_max: int = 256 * 1024
    """How many bytes of an attempt's log are kept: its first lines and its last."""
    grace_s: float = 10.0
    """How long a stopping process waits for what it runs."""

    reap_every_s: float = 5.0
    """How often runs of silent workers are looked for."""
    reap_batch_max: int = 500
    """How many of them one pass rescues."""
    retention_s: float = timedelta(days=30).total_seconds()
    """How long ended runs are kept."""
    dead_retention_s: float = timedelta(days=90).total_seconds()
    """How long dead runs and their attempts are kept, where that is longer than `retention_s`."""
    tidy_every_s: float = 60.0
    """How often what retention lets go is removed."""
    tidy_batch_max: int = 1_000
    """How many rows one pass removes."""
    skew_warning_s: float = 1.0
    """From which difference to the clock of the store a node warns."""
    metrics: str = ""
    """Where this process shows its metrics, as in 127.0.0.1:9580; empty: nowhere but in the web."""
    metrics_open: bool = False
    """Whether the web shows /metrics without a token."""
    metrics_jobs_max: int = 200
    """How many jobs and how many queues have series of their own; the others are `_other` together."""
    gauges_every_s: float = 15.0
    """How often metrics that nothing counts are read from the store."""
    completeness_target: float = 0.999
    """The share of expected runs that should succeed: the error budget is what is left of 1."""
    public_url: str = ""
    """Where people find the dashboard, as in https://cron.example.org; empty: messages have no links."""
    docs: str = ""
    """The folder of the built documentation, which the web shows under /docs; empty: none."""
    notify_every_s: float = 10.0
    """How often alarms are looked for."""
    notify_window_s: float = 60.0
    """For how long what is to be told is gathered into one message."""
    smtp: str = field(default="", repr=False)
    """Which server sends e-mail, as in smtps://user:password@mail.example.org; empty: none."""
    smtp_from: str = ""
    """Whom e-mail is from; empty: fencepost at the host of the worker."""
    pool_max: int = 5
    """How many connections to PostgreSQL a process keeps."""
    transactions_max: int = 10
    """How many transactions of jobs may be open at a time in one process, on PostgreSQL."""
    lease_terms: LeaseTerms = field(init=False, repr=False)
    _quotas: Mapping[str, Quotas] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        checked_name("namespace", self.namespace)
        _require(
            not self.node or NODE_NAME.fullmatch(self.node) is not None,
            f"node {self.node!r}: expected up to {NODE_NAME_MAX} letters, digits, dots, - and _",
        )
        for queue in self.queues:
            checked_name("queue", queue)
        _require(
            not self.public_url or self.public_url.startswith(("http://", "https://")),
            f"public_url {self.public_url!r}: expected an address, as in https://cron.example.org",
        )
        self._check_weights()
        said = {name.removeprefix("oidc_"): it for name, it in vars(self).items() if name.startswith("oidc_")}
        for fault in provider_faults(**said):
            raise InvalidSettings(fault)
        for path in self.commands_allowed:
            _require(
                path.startswith("/"),
                f"commands_allowed {path!r}: expected absolute paths, and folders ending in /",
            )
        for proxy in self.trusted_proxies:
            bare = without_mapping(proxy)
            _require(
                is_network(bare),
                f"trusted_proxies {proxy!r}: expected addresses and networks, as in 10.0.0.7 or 10.0.0.0/24",
            )
            _require(
                bare == proxy, f"trusted_proxies {proxy!r}: is of version 4, and taken as such; write {bare}"
            )
        for one in fields(self):
            value = getattr(self, one.name, None)
            if isinstance(value, int | float) and not isinstance(value, bool) and value <= 0:
                _require(one.name == "prefetch" and value == 0, f"{one.name} {value:g}: expected more than 0")
        terms = LeaseTerms(
            ttl_s=self.lease_ttl_s,
            renew_deadline_s=self.lease_renew_deadline_s,
            retry_period_s=self.lease_retry_period_s,
            margin_s=self.lease_margin_s,
        )
        object.__setattr__(self, "lease_terms", terms)
        object.__setattr__(self, "_quotas", self._read_quotas())
        self._check_together()

    @property
    def weights(self) -> dict[Queue, int]:
        """The weight of each queue that has one."""
        return dict(zip(self.queues, self.queue_weights, strict=False))

    def quotas(self, namespace: Namespace) -> Quotas:
        """How much of the store a namespace may use."""
        return self._quotas.get(namespace) or self._quotas[ALL_OTHERS]

    def _read_quotas(self) -> dict[str, Quotas]:
        found = {ALL_OTHERS: Quotas(**{one: getattr(self, f"quota_{one}") for one in Quota})}
        for text in self.quota_exceptions:
            namespace, _, rest = text.partition(":")
            name, _, value = rest.partition("=")
            checked_name("namespace", namespace)
            _require(name in list(Quota), f"quota_exceptions {text!r}: expected one of {', '.join(Quota)}")
            read = _read(f"quota_{name}", value, f"quota_exceptions {text!r}")
            _require(read > 0, f"quota_exceptions {text!r}: expected more than 0")
            found[namespace] = replace(found.get(namespace, found[ALL_OTHERS]), **{name: read})
        for namespace, quotas in found.items():
            _require(
                quotas.planned_per_s * quotas.interval_s >= 1,
                f"quotas of {namespace}: planned_per_s {quotas.planned_per_s:g} is less than one schedule "
                f"needs that fires every interval_s {quotas.interval_s:g}",
            )
        return found

    def _check_weights(self) -> None:
        _require(
            len(self.queue_weights) in (0, len(self.queues)),
            f"queue_weights has {len(self.queue_weights)} numbers for {len(self.queues)} queues",
        )
        for queue, weight in self.weights.items():
            _require(
                1 <= weight <= WEIGHT_MAX,
                f"queue {queue}: weight {weight}: expected a whole number from 1 to {WEIGHT_MAX}",
            )

    @property
    def takeover_s(self) -> float:
        """After how long a lost leader has a successor, at the latest."""
        return self.lease_ttl_s + self.lease_retry_period_s * self.lease_terms.jitter

    def _check_together(self) -> None:
        needed_s = self.takeover_s + self.plan_every_s
        _require(
            self.horizon_s > needed_s,
            f"horizon_s {self.horizon_s:g} must exceed a takeover plus one planning pass "
            f"({needed_s:g}), or a lost leader makes ticks late",
        )
        _require(
            self.heartbeat_timeout_s >= 2 * self.heartbeat_every_s,
            f"heartbeat_timeout_s {self.heartbeat_timeout_s:g} must be at least twice "
            f"heartbeat_every_s {self.heartbeat_every_s:g}, or one lost heartbeat costs a run",
        )
        _require(
            SESSION_IDLE_LEAST_S <= self.session_idle_s <= self.session_lasts_s,
            f"session_idle_s {self.session_idle_s:g} must be at least {SESSION_IDLE_LEAST_S:g}, and at most "
            f"session_lasts_s {self.session_lasts_s:g}",
        )
        _require(
            self.run_log_max >= RUN_LOG_LEAST,
            f"run_log_max {self.run_log_max} bytes is too little to be of use: at least {RUN_LOG_LEAST}",
        )
        _require(
            self.completeness_target < 1,
            f"completeness_target {self.completeness_target:g}: expected less than 1, such as 0.999",
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
    check_variables(environment, (one.upper() for one in setting_names()))
    values: dict[str, Any] = {}
    for name, value in (file or {}).items():
        values |= _said(name, value, name)
    for name in setting_names():
        text = environment.get(PREFIX + name.upper())
        if text is not None:
            values |= _said(name, text, PREFIX + name.upper())
    for name, value in (overrides or {}).items():
        if value is not None:
            values |= _said(name, value, name)
    return Settings(**values)


def changed_settings(settings: Settings, overrides: Mapping[str, Any]) -> Settings:
    """The settings with what the caller says instead; None leaves one as it is."""
    values: dict[str, Any] = {}
    for name, value in overrides.items():
        if value is not None:
            values |= _said(name, value, name)
    return replace(settings, **values)


def setting_names() -> list[str]:
    """What can be set."""
    return [one.name for one in fields(Settings) if one.init]


def _said(name: str, value: Any, where: str) -> dict[str, Any]:
    """What one setting says: queues may come with their weights."""
    read = _read(name, value, where)
    return {name: read} if name != "queues" else {"queues": read[0], "queue_weights": read[1]}


def _read(name: str, value: Any, where: str) -> Any:
    """The value in the setting's own type, or one line that says what was expected."""
    default = getattr(Settings, name, None)
    if name not in setting_names():
        near = get_close_matches(name, setting_names(), n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; known: {', '.join(setting_names())}"
        raise InvalidSettings(f"unknown setting {name!r}{hint}")
    try:
        if name == "queues":
            return _queues(value.split(",") if isinstance(value, str) else value)
        if name == "queue_weights":
            return tuple(_whole(one) for one in (value.split(",") if isinstance(value, str) else value))
        if isinstance(default, tuple):
            names = value.split(",") if isinstance(value, str) else value
            return tuple(one.strip() for one in names)
        if isinstance(default, bool):
            return _yes_or_no(value)
        if isinstance(default, int):
            return _whole(value)
        if isinstance(default, float):
            return _seconds(value)
        return str(value)
    except (ValueError, TypeError, AttributeError, InvalidDuration) as error:
        raise InvalidSettings(f"{where} = {value!r}: {error}") from None


def _queues(words: Iterable[str]) -> tuple[tuple[Queue, ...], tuple[int, ...]]:
    """Names, and their weights where any has one: mail:3 beside a bare name, which is worth 1."""
    pairs = [word.strip().partition(":") for word in words]
    names = tuple(Queue(name.strip()) for name, _, _ in pairs)
    weights = tuple(_whole(weight) if colon else 1 for _, colon, weight in pairs)
    return names, weights if any(colon for _, colon, _ in pairs) else ()


def _whole(value: Any) -> int:
    if isinstance(value, str) and value.strip().lstrip("-").isdecimal():
        return int(value)
    if type(value) is int:
        return value
    raise TypeError("expected a whole number")


def _yes_or_no(value: Any) -> bool:
    answers = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
    answer = value if isinstance(value, bool) else answers.get(str(value).strip().lower())
    if answer is None:
        raise TypeError("expected true or false")
    return answer


def _seconds(value: Any) -> float:
    """Seconds from a number, as a text too, or from a length of time."""
    if isinstance(value, str):
        with suppress(ValueError):
            value = float(value)
    return parse_duration(value).total_seconds()


def _require(holds: bool, complaint: str) -> None:
    if not holds:
        raise InvalidSettings(complaint)
