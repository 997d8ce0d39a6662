-- Which jobs run after which, and which runs followed which.
CREATE TABLE successors (
    namespace    TEXT NOT NULL,
    predecessor  TEXT NOT NULL,
    job          TEXT NOT NULL,
    after_on     TEXT NOT NULL,
    predecessors TEXT NOT NULL,
    PRIMARY KEY (namespace, predecessor, job)
) STRICT;
CREATE TABLE run_links (
    namespace   TEXT NOT NULL,
    run_key     TEXT NOT NULL,
    job         TEXT NOT NULL,
    predecessor TEXT NOT NULL,
    state       TEXT NOT NULL,
    successor   TEXT NOT NULL,
    PRIMARY KEY (namespace, run_key, job)
) STRICT;
CREATE INDEX run_links_by_successor ON run_links (namespace, successor);
