-- In a transaction of its own: nobody reads while an index is dropped, and none is built meanwhile.
DROP INDEX IF EXISTS fencepost.runs_lined, fencepost.runs_limited;
