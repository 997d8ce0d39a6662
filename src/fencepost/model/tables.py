"""The tables of a ledger, declared once for every store. `ports` and `model` explain the columns."""

from __future__ import annotations

from fencepost.model.notification_tables import ALARMS as ALARMS
from fencepost.model.notification_tables import NOTIFY_EVENTS as NOTIFY_EVENTS
from fencepost.model.notification_tables import NOTIFY_TARGETS as NOTIFY_TARGETS
from fencepost.model.run import LIVE_ORIGINS, Hold, Origin, RunState
from fencepost.model.table import (
    Above,
    AnyBit,
    AtLeast,
    Either,
    NoneOf,
    NotNull,
    Null,
    OneOf,
    Table,
    Unlike,
    table,
)

META = table("meta", "name", text="name value")

JOBS = table(
    "jobs", "namespace name", text="namespace name spec queue", integer="priority", time="updated_at"
)

SUCCESSORS = table(
    "successors", "namespace predecessor job", text="namespace predecessor job after_on predecessors"
)

SCHEDULES = table(
    "schedules",
    "namespace schedule_id",
    text="namespace schedule_id state spec job queue code_spec code_digest",
    integer="shard version priority",
    json="labels",
    time="updated_at",
    boolean="frozen",
    defaults={"frozen": False, "labels": "{}"},
)
SCHEDULES_THERE = SCHEDULES.index("schedules_there", "namespace", NoneOf("state", ("removed",)))
SCHEDULES_BY_CHANGE = SCHEDULES.index("schedules_by_change", "namespace updated_at", AtLeast("version", 0))

VERSIONS = table(
    "schedule_versions",
    "namespace schedule_id version",
    text="namespace schedule_id spec job tzdata",
    integer="version",
    time="in_force_from in_force_until",
)

CURSORS = table(
    "cursors",
    "namespace schedule_id version",
    text="namespace schedule_id tzdata",
    integer="shard version touched",
    time="planned_through until next_fire_at",
    boolean="frozen",
    defaults={"tzdata": "", "touched": 0, "frozen": False},
)
CURSORS_NEXT = CURSORS.index("cursors_next", "shard next_fire_at", NotNull("next_fire_at"))
CURSORS_BY_RULES = CURSORS.index("cursors_by_rules", "shard tzdata", Null("until"), NotNull("next_fire_at"))

CALENDARS = table(
    "calendars", "namespace name", text="namespace name definition", integer="revision", time="updated_at"
)
_OF_CALENDAR = "namespace schedule_id calendar"
CALENDAR_USES = table("calendar_uses", _OF_CALENDAR, text=_OF_CALENDAR, integer="revision")
CALENDAR_USES_BY_REVISION = CALENDAR_USES.index(
    "calendar_uses_by_revision", "namespace calendar revision schedule_id"
)

RUNS = table(
    "runs",
    "namespace run_key",
    text=(
        "namespace run_key schedule_id job state reason queue worker error progress note payload origin "
        "blocked_by slot"
    ),
    integer="version attempt fence epoch priority held attempts_before_replay backfill_id",
    time=(
        "fire_time run_at started_at finished_at alive_until first_started_at progress_at "
        "expires_at due_at created_at"
    ),
    boolean="cancel_requested stripped awaited told",
    defaults={
        "version": 0,
        "attempt": 0,
        "fence": 0,
        "epoch": 0,
        "cancel_requested": False,
        "stripped": False,
        "awaited": False,
        "told": False,
        "origin": Origin.LIVE.value,
        "held": 0,
        "attempts_before_replay": 0,
    },
)
_WAITING = OneOf("state", (RunState.PLANNED.value, RunState.READY.value))
_OF_A_SCHEDULE = NotNull("schedule_id")
_NOT_BEGUN = OneOf("fence", (0,))
_BEGUN = Above("fence", 0)
_FREE = OneOf("held", (0,))
_ENDED = NotNull("finished_at")
_CATCHES_UP = OneOf("origin", (Origin.CATCH_UP.value,))
_LIVE = OneOf("origin", tuple(sorted(one.value for one in LIVE_ORIGINS)))
_BEHIND = NoneOf("origin", tuple(sorted(one.value for one in LIVE_ORIGINS)))

RUNS_DUE_DIRECT = RUNS.index(
    "runs_due_direct",
    "namespace queue priority run_at",
    _WAITING,
    Either(Null("schedule_id"), _BEGUN),
    _FREE,
)
RUNS_DUE_TICKS = RUNS.index(
    "runs_due_ticks",
    "namespace queue priority run_at",
    _WAITING,
    _OF_A_SCHEDULE,
    _NOT_BEGUN,
    _FREE,
    AtLeast("attempt", 0),
)
RUNS_BY_SCHEDULE = RUNS.index(
    "runs_by_schedule", "namespace schedule_id fire_time", _OF_A_SCHEDULE, AtLeast("epoch", 0)
)
RUNS_OPEN = RUNS.index(
    "runs_open", "namespace schedule_id fire_time", _WAITING, _OF_A_SCHEDULE, _NOT_BEGUN, _LIVE
)
RUNS_BEHIND = RUNS.index(
    "runs_behind",
    "namespace schedule_id fire_time run_at held",
    _WAITING,
    _OF_A_SCHEDULE,
    _NOT_BEGUN,
    _BEHIND,
)
RUNS_GATED = RUNS.index(
    "runs_gated",
    "namespace schedule_id fire_time",
    _WAITING,
    _OF_A_SCHEDULE,
    _NOT_BEGUN,
    _BEHIND,
    _CATCHES_UP,
    AnyBit("held", Hold.GATE.value),
)
RUNS_PARKED = RUNS.index(
    "runs_parked", "namespace schedule_id fire_time run_key", OneOf("held", (Hold.PARKED.value,))
)
RUNS_UNFINISHED = RUNS.index(
    "runs_unfinished",
    "namespace schedule_id",
    _OF_A_SCHEDULE,
    _BEGUN,
    OneOf("state", (RunState.READY.value, RunState.RUNNING.value)),
)
RUNS_FINISHED = RUNS.index(
    "runs_finished", "namespace schedule_id finished_at", _OF_A_SCHEDULE, _BEGUN, _ENDED
)
RUNS_SUCCEEDED = RUNS.index(
    "runs_succeeded",
    "namespace schedule_id fire_time",
    _OF_A_SCHEDULE,
    OneOf("state", (RunState.SUCCEEDED.value,)),
)
RUNS_CAUGHT_UP = RUNS.index(
    "runs_caught_up", "namespace schedule_id finished_at", _CATCHES_UP, _BEGUN, _ENDED
)
_ANY_VERSION = AtLeast("version", 0)
RUNS_RUNNING = RUNS.index("runs_running", "worker", OneOf("state", (RunState.RUNNING.value,)), _ANY_VERSION)
RUNS_BY_TIME = RUNS.index("runs_by_time", "namespace fire_time", _ANY_VERSION)
RUNS_HELD = RUNS.index("runs_held", "namespace fire_time", Unlike("held", 0), AtLeast("attempt", 0))
RUNS_HELD_BACK = RUNS.index("runs_held_by_somebody", "namespace", AnyBit("held", 7))
RUNS_DEAD = RUNS.index(
    "runs_dead", "namespace fire_time", OneOf("state", (RunState.DEAD.value,)), _ANY_VERSION
)
RUNS_OF_BACKFILL = RUNS.index("runs_of_backfill", "backfill_id state run_at", NotNull("backfill_id"))
RUNS_ENDED = RUNS.index("runs_ended", "finished_at", _ENDED, OneOf("stripped", (False,)))
RUNS_LINED = RUNS.index(
    "runs_lined", "namespace job queue priority run_at", OneOf("held", (Hold.PACED.value,))
)
RUNS_LIMITED = RUNS.index(
    "runs_limited", "namespace job slot priority run_at", OneOf("held", (Hold.LIMITED.value,))
)
RUNS_LIMITED_TICKS = RUNS.index(
    "runs_limited_ticks",
    "namespace schedule_id fire_time",
    OneOf("held", (Hold.LIMITED.value, Hold.PACED.value)),
    _OF_A_SCHEDULE,
    _NOT_BEGUN,
)
RUNS_IN_SLOTS = RUNS.index(
    "runs_in_slots", "namespace job slot", NotNull("slot"), OneOf("state", (RunState.RUNNING.value,))
)
RUNS_EXPIRING = RUNS.index(
    "runs_expiring", "expires_at", NotNull("expires_at"), _WAITING, Null("first_started_at")
)
_WRONG = OneOf("state", (RunState.DEAD.value, RunState.MISSED.value))
RUNS_UNTOLD = RUNS.index("runs_untold", "namespace state finished_at", _WRONG, OneOf("told", (False,)))

UNIQUE_RUNS = table(
    "unique_runs", "namespace job name", text="namespace job name run_key", time="taken_at until"
)
UNIQUE_RUNS_BY_RUN = UNIQUE_RUNS.index("unique_runs_by_run", "namespace run_key")

RUN_LINKS = table(
    "run_links", "namespace run_key job", text="namespace run_key job predecessor state successor"
)
RUN_LINKS_BY_SUCCESSOR = RUN_LINKS.index("run_links_by_successor", "namespace successor")

STEPS = table(
    "steps",
    "namespace run_key name",
    serial="number",
    text="namespace run_key name result",
    integer="attempt number",
    time="recorded_at",
)
STEPS_IN_ORDER = STEPS.index("steps_in_order", "namespace run_key number")

RUN_LOGS = table(
    "run_logs",
    "namespace run_key attempt number",
    text="namespace run_key text",
    integer="attempt number first_line lines",
    time="at",
)

ATTEMPTS = table(
    "attempts",
    "namespace run_key attempt",
    text="namespace run_key worker outcome error detail output",
    integer="attempt fence",
    time="started_at finished_at",
)
ATTEMPTS_BY_TIME = ATTEMPTS.index("attempts_by_time", "finished_at")
ATTEMPTS_TAKEN_AWAY = ATTEMPTS.index(
    "attempts_taken_away", "namespace finished_at", OneOf("outcome", ("lost", "terminated"))
)

LEASES = table(
    "leases",
    "shard",
    text="holder",
    integer="shard epoch",
    time="expires_at",
    real="ttl_s set_back_s",
    defaults={"set_back_s": 0.0},
)

EPOCHS = table(
    "epochs",
    "shard",
    text="holder lineage",
    integer="shard epoch lease_epoch transitions",
    time="since",
    defaults={"lineage": "", "lease_epoch": 0, "transitions": 0},
)
TERMS = table(
    "terms",
    "number",
    serial="number",
    text="holder lineage",
    integer="number shard epoch",
    time="since until",
)
TERMS_OF_SHARD = TERMS.index("terms_of_shard", "shard epoch")
REFUSALS = table(
    "refusals",
    "number",
    serial="number",
    text="holder known_holder",
    integer="number shard epoch known_epoch",
    time="at",
)

NODES = table(
    "nodes",
    "node_id",
    text="node_id about report",
    time="started_at alive_until reported_at",
    real="skew_s",
    boolean="draining",
    defaults={"report": "{}", "draining": False},
)

GATES = table(
    "gates",
    "namespace schedule_id",
    text="namespace schedule_id reason",
    time="closed_at opened_at let_through",
)
GATES_CLOSED = GATES.index("gates_closed", "namespace", NotNull("closed_at"))

LIMITS = table(
    "limits", "namespace job", text="namespace job terms", integer="concurrency", time="paid_until next_at"
)

FREEZES = table(
    "freezes", "namespace kind value", text="namespace kind value author source reason", time="since"
)

BACKFILLS = table(
    "backfills",
    "backfill_id",
    serial="backfill_id",
    text="namespace schedule_id mode state",
    integer="backfill_id at_once_max",
    real="every_s",
    time="since until filled_through next_run_at created_at",
)
BACKFILLS_BY_NAMESPACE = BACKFILLS.index("backfills_by_namespace", "namespace backfill_id")
BACKFILLS_ACTIVE = BACKFILLS.index("backfills_active", "backfill_id", OneOf("state", ("active",)))

MISSED_RANGES = table(
    "missed_ranges",
    "namespace schedule_id version first_at",
    text="namespace schedule_id reason",
    integer="version ticks untold",
    time="first_at last_at through",
    defaults={"untold": 0},
)
MISSED_RANGES_BY_TIME = MISSED_RANGES.index("missed_ranges_by_time", "namespace last_at")
MISSED_RANGES_UNTOLD = MISSED_RANGES.index("missed_ranges_untold", "namespace", Above("untold", 0))

AUDIT_LOG = table(
    "audit_log",
    "number",
    serial="number",
    text="namespace author source reason action subject before after credential",
    integer="number",
    time="at",
)
AUDIT_LOG_BY_NUMBER = AUDIT_LOG.index("audit_log_by_number", "namespace number")
AUDIT_LOG_BY_SUBJECT = AUDIT_LOG.index("audit_log_by_subject", "namespace subject number")

TOKENS = table(
    "tokens",
    "token_id",
    serial="number",
    text="token_id digest name role namespace created_by rotated_from",
    integer="number",
    time="created_at expires_at last_used_at revoked_at",
)
TOKENS_BY_NUMBER = TOKENS.index("tokens_by_number", "number")
TOKENS_BY_NAMESPACE = TOKENS.index("tokens_by_namespace", "namespace number")
TOKENS_BY_ORIGIN = TOKENS.index("tokens_by_origin", "rotated_from", NotNull("rotated_from"))
TOKENS_EXPIRING = TOKENS.index("tokens_expiring", "expires_at", NotNull("expires_at"))
TOKENS_REVOKED = TOKENS.index("tokens_revoked", "revoked_at", NotNull("revoked_at"))

SESSIONS = table(
    "sessions",
    "session_id",
    serial="number",
    text="session_id digest name role namespace opened_with rests_on",
    integer="number",
    time="created_at expires_at last_used_at ended_at",
)
SESSIONS_BY_NUMBER = SESSIONS.index("sessions_by_number", "number")
SESSIONS_BY_NAMESPACE = SESSIONS.index("sessions_by_namespace", "namespace number")
SESSIONS_BY_BASIS = SESSIONS.index("sessions_by_what_they_rest_on", "rests_on")
SESSIONS_EXPIRING = SESSIONS.index("sessions_expiring", "expires_at")
SESSIONS_ENDED = SESSIONS.index("sessions_ended", "ended_at", NotNull("ended_at"))

LINKS = table(
    "sign_in_links",
    "link_id",
    text="link_id digest name role namespace created_by session_id rests_on",
    time="created_at expires_at",
)
LINKS_EXPIRING = LINKS.index("sign_in_links_over", "expires_at")

ANSWERS = table(
    "answers",
    "namespace principal_id key",
    text="namespace principal_id key fingerprint headers",
    integer="status",
    time="asked_at held_until",
    bytes="body",
)
ANSWERS_BY_AGE = ANSWERS.index("answers_by_age", "asked_at")

TABLES = tuple(one for one in tuple(vars().values()) if isinstance(one, Table))
"""All of them."""

UNFINISHED = 1_000_000
"""A number that is added to the number of the schema, in `META`, while a ledger is copied into a store. No
release has such a schema, so none opens a store that has only part of a ledger."""


def unfinished_copy(store: str) -> str:
    """Why a store is refused into which a copy was begun."""
    return f"store {store}: a copy to it was not finished; run the same fencepost copy again"
