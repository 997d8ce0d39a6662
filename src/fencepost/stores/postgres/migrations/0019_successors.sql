-- Which jobs run after which, and which runs followed which.
CREATE TABLE IF NOT EXISTS fencepost.successors (
    namespace    {name} NOT NULL,
    predecessor  {name} NOT NULL,
    job          {name} NOT NULL,
    after_on     {text} NOT NULL,
    predecessors {text} NOT NULL,
    PRIMARY KEY (namespace, predecessor, job)
);
CREATE TABLE IF NOT EXISTS fencepost.run_links (
    namespace   {name} NOT NULL,
    run_key     {name} NOT NULL,
    job         {name} NOT NULL,
    predecessor {name} NOT NULL,
    state       {text} NOT NULL,
    successor   {name} NOT NULL,
    PRIMARY KEY (namespace, run_key, job)
);
CREATE INDEX IF NOT EXISTS run_links_by_successor ON fencepost.run_links (namespace, successor);
