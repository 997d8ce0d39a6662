-- Carrying out verdicts.

-- name: end
UPDATE runs
SET state = :state, reason = :reason, met = :met, finished_at = :now, held = 0
WHERE rowid = :row_id

-- It has to be judged anew, so it is not parked any more.
-- name: admit
UPDATE runs
SET origin = 'catch_up', priority = :priority, reason = :reason, held = (held & ~56) | :held
WHERE rowid = :row_id

-- name: park
UPDATE runs SET held = (held & ~56) | 8, reason = :reason WHERE rowid = :row_id
