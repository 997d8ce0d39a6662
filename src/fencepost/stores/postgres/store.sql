-- name: now
SELECT fencepost.now();

-- name: durability
SELECT
    current_setting('fsync') AS fsync,
    current_setting('full_page_writes') AS full_page_writes,
    current_setting('synchronous_commit') AS synchronous_commit,
    current_setting('transaction_isolation') AS isolation;
