-- Zone rules and calendars: by which rules a version was last planned, and with which calendars it was written.
-- What was planned before counts as planned by rules that are older than any.

ALTER TABLE cursors ADD COLUMN tzdata TEXT NOT NULL DEFAULT '';

CREATE INDEX cursors_by_rules ON cursors (shard, tzdata) WHERE until IS NULL AND next_fire_at IS NOT NULL;

-- The row of a calendar that was removed has no definition; it remembers the revision.
CREATE TABLE calendars (
    namespace  TEXT NOT NULL,
    name       TEXT NOT NULL,
    revision   INTEGER NOT NULL,
    definition TEXT,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (namespace, name)
) STRICT;

-- What the latest version of each schedule was written with.
CREATE TABLE calendar_uses (
    namespace   TEXT NOT NULL,
    schedule_id TEXT NOT NULL,
    calendar    TEXT NOT NULL,
    revision    INTEGER NOT NULL,
    PRIMARY KEY (namespace, schedule_id, calendar)
) STRICT;

CREATE INDEX calendar_uses_by_revision ON calendar_uses (namespace, calendar, revision, schedule_id);
