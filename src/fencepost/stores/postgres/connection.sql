-- What every part of the store may ask of the connection.

-- What is acknowledged must be durable. Another setting than off is the user's choice among standbys.
-- name: durable
SELECT set_config('synchronous_commit', 'on', false)
WHERE current_setting('synchronous_commit') = 'off';

-- A commit of this waits for the synchronous standby, and so for everything that was committed before it. A
-- transaction that only read waits for nothing. Without such a standby there is nothing to write.
-- name: confirm
SELECT pg_logical_emit_message(true, 'fencepost', '')
WHERE current_setting('synchronous_standby_names') <> '';
