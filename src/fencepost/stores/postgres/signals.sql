-- Shared, so that a connection that replaces a broken one need not wait until the server has noticed.
-- name: vouch
SELECT pg_advisory_lock_shared($1);
