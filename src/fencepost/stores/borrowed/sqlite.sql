-- What is asked of SQLite only over a caller's connection.

-- name: file
SELECT file FROM pragma_database_list WHERE name = 'main'
