-- What every part of the store may ask of the connection.

-- A commit of this waits for the synchronous standby, and so for everything that was committed before it. A
-- transaction that only read waits for nothing. Without such a standby there is nothing to write.
-- name: confirm
SELECT pg_logical_emit_message(true, 'fencepost', '')
WHERE current_setting('synchronous_standby_names') <> '';
