-- What people watch: who led which shard when, writes that were refused, and what happened of late.

-- A term ends when the next one of its shard begins; `until` is set only where the shard was cut away.
CREATE TABLE terms (
    number  INTEGER PRIMARY KEY,
    shard   INTEGER NOT NULL,
    epoch   INTEGER NOT NULL,
    holder  TEXT NOT NULL,
    lineage TEXT NOT NULL,
    since   INTEGER NOT NULL,
    until   INTEGER,
    UNIQUE (shard, epoch)
) STRICT;

INSERT INTO terms (shard, epoch, holder, lineage, since)
SELECT shard, epoch, holder, lineage, since
FROM epochs
WHERE holder IS NOT NULL AND since IS NOT NULL
ORDER BY since, shard;

CREATE TABLE refusals (
    number       INTEGER PRIMARY KEY,
    at           INTEGER NOT NULL,
    shard        INTEGER NOT NULL,
    epoch        INTEGER NOT NULL,
    holder       TEXT NOT NULL,
    known_epoch  INTEGER NOT NULL,
    known_holder TEXT
) STRICT;

CREATE INDEX attempts_by_time ON attempts (finished_at);
CREATE INDEX schedules_by_change ON schedules (namespace, updated_at);

-- What waits for a person, among the many that merely wait for their turn, and among gates that are open again.
CREATE INDEX runs_held_by_somebody ON runs (namespace) WHERE held & 7 <> 0;
CREATE INDEX gates_closed ON gates (namespace) WHERE closed_at IS NOT NULL;
