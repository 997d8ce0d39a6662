-- In a transaction of its own: after the building of an index it would wait for transactions that wait for it.
--
-- Every move of a run that is not live wrote the index by origin, and only lists of one origin read it: they search by
-- time now.
DROP INDEX IF EXISTS fencepost.runs_by_origin;
