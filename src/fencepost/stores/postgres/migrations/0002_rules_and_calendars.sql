-- Zone rules and calendars: by which rules a version was last planned, and with which calendars it was
-- written. What was planned before counts as planned by rules that are older than any.

ALTER TABLE fencepost.cursors ADD COLUMN tzdata text COLLATE "C" NOT NULL DEFAULT '';

CREATE INDEX cursors_by_rules ON fencepost.cursors (shard, tzdata)
    WHERE until IS NULL AND next_fire_at IS NOT NULL;

-- The row of a calendar that was removed has no definition; it remembers the revision.
CREATE TABLE fencepost.calendars (
    namespace  text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    revision   integer NOT NULL,
    definition text,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (namespace, name)
);

-- What the latest version of each schedule was written with.
CREATE TABLE fencepost.calendar_uses (
    namespace   text COLLATE "C" NOT NULL,
    schedule_id text COLLATE "C" NOT NULL,
    calendar    text COLLATE "C" NOT NULL,
    revision    integer NOT NULL,
    PRIMARY KEY (namespace, schedule_id, calendar)
);

CREATE INDEX calendar_uses_by_revision
    ON fencepost.calendar_uses (namespace, calendar, revision, schedule_id);
