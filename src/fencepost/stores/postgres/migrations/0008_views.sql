-- What people watch: who led which shard when, writes that were refused, and what happened of late.

-- A term ends when the next one of its shard begins; `until` is set only where the shard was cut away.
CREATE TABLE fencepost.terms (
    number  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    shard   integer NOT NULL,
    epoch   bigint NOT NULL,
    holder  text COLLATE "C" NOT NULL,
    lineage text COLLATE "C" NOT NULL,
    since   timestamptz NOT NULL,
    until   timestamptz,
    UNIQUE (shard, epoch)
);

INSERT INTO fencepost.terms (shard, epoch, holder, lineage, since)
SELECT shard, epoch, holder, lineage, since
FROM fencepost.epochs
WHERE holder IS NOT NULL AND since IS NOT NULL
ORDER BY since, shard;

CREATE TABLE fencepost.refusals (
    number       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at           timestamptz NOT NULL,
    shard        integer NOT NULL,
    epoch        bigint NOT NULL,
    holder       text COLLATE "C" NOT NULL,
    known_epoch  bigint NOT NULL,
    known_holder text COLLATE "C"
);

CREATE INDEX attempts_by_time ON fencepost.attempts (finished_at);
CREATE INDEX schedules_by_change ON fencepost.schedules (namespace, updated_at);

-- Lists of what is rare, and of one job.
CREATE INDEX runs_by_job ON fencepost.runs (namespace, job, fire_time) WHERE version >= 0;
CREATE INDEX runs_not_run ON fencepost.runs (namespace, state, fire_time)
    WHERE state IN ('skipped', 'missed', 'cancelled', 'withdrawn');
CREATE INDEX runs_by_origin ON fencepost.runs (namespace, origin, fire_time) WHERE origin <> 'live';
CREATE INDEX runs_by_error ON fencepost.runs (namespace, fire_time) WHERE error IS NOT NULL;

-- What waits for a person, among the many that merely wait for their turn, and among gates that are open again.
CREATE INDEX runs_held_by_somebody ON fencepost.runs (namespace) WHERE held & 7 <> 0;
CREATE INDEX gates_closed ON fencepost.gates (namespace) WHERE closed_at IS NOT NULL;
