-- What was told of runs that went wrong, and of missed ticks; who is told; and the states that are wrong now. Nothing that was
-- there before is told.
ALTER TABLE fencepost.runs ADD COLUMN IF NOT EXISTS told boolean NOT NULL DEFAULT false;
ALTER TABLE fencepost.missed_ranges ADD COLUMN IF NOT EXISTS untold bigint NOT NULL DEFAULT 0;
CREATE TABLE IF NOT EXISTS fencepost.notify_targets (
    namespace  {name} NOT NULL,
    name       {name} NOT NULL,
    definition {text} NOT NULL,
    updated_at {time} NOT NULL,
    PRIMARY KEY (namespace, name)
);
CREATE TABLE IF NOT EXISTS fencepost.notify_events (
    namespace {name} NOT NULL,
    event     {name} NOT NULL,
    since     {time} NOT NULL,
    first_at  {time},
    PRIMARY KEY (namespace, event)
);
CREATE TABLE IF NOT EXISTS fencepost.alarms (
    namespace   {name} NOT NULL,
    event       {name} NOT NULL,
    subject     {name} NOT NULL,
    job         {name},
    schedule_id {name},
    words       {text} NOT NULL,
    told        boolean NOT NULL DEFAULT false,
    since       {time} NOT NULL,
    ended_at    {time},
    PRIMARY KEY (namespace, event, subject)
);

-- way: concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_untold ON fencepost.runs (namespace, state, finished_at)
    WHERE state IN ('dead', 'missed') AND NOT told;
CREATE INDEX CONCURRENTLY IF NOT EXISTS missed_ranges_untold ON fencepost.missed_ranges (namespace)
    WHERE untold > 0;
