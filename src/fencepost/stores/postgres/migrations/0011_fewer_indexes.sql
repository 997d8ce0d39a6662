-- Every move of a run wrote the index by job, and only lists of one job read it: they search by time now.

DROP INDEX IF EXISTS fencepost.runs_by_job;
