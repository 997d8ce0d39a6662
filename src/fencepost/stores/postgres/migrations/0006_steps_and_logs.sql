-- What a run leaves behind while it works: recorded steps, the lines of its log, what it is at and when it last
-- said so.

ALTER TABLE fencepost.runs
    ADD COLUMN note        text,
    ADD COLUMN progress_at timestamptz;

-- Of the run, not of the attempt that made it.
CREATE TABLE fencepost.steps (
    namespace   text COLLATE "C" NOT NULL,
    run_key     text COLLATE "C" NOT NULL,
    name        text COLLATE "C" NOT NULL,
    result      text NOT NULL,
    attempt     integer NOT NULL,
    recorded_at timestamptz NOT NULL,
    number      bigint GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (namespace, run_key, name)
);

CREATE TABLE fencepost.run_logs (
    namespace  text COLLATE "C" NOT NULL,
    run_key    text COLLATE "C" NOT NULL,
    attempt    integer NOT NULL,
    number     integer NOT NULL,
    first_line bigint NOT NULL,
    lines      integer NOT NULL,
    text       text NOT NULL,
    at         timestamptz NOT NULL,
    PRIMARY KEY (namespace, run_key, attempt, number)
);
