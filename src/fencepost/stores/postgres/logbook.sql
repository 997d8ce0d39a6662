-- Lines are taken from an attempt that nobody has taken the run from, also when it has ended. A run whose row is
-- locked has its own transaction open, or is being taken away just now: its lines come with the next page.
-- name: append
WITH given AS MATERIALIZED (
    SELECT *
    FROM unnest($1::text[], $2::text[], $3::integer[], $4::bigint[], $5::integer[], $6::integer[]) WITH ORDINALITY
        AS each (namespace, run_key, attempt, fence, kept_through, kept_from, page)
), latest AS MATERIALIZED (
    SELECT given.*
    FROM given
    JOIN fencepost.runs AS run
        ON {is_attempt_of(given)}
    FOR SHARE OF run SKIP LOCKED
), gave_way AS (
    DELETE FROM fencepost.run_logs AS log
    USING latest
    WHERE log.namespace = latest.namespace
        AND log.run_key = latest.run_key
        AND log.attempt = latest.attempt
        AND log.number > latest.kept_through
        AND log.number < latest.kept_from
), written AS (
    INSERT INTO fencepost.run_logs (namespace, run_key, attempt, number, first_line, lines, text, at)
    SELECT latest.namespace, latest.run_key, latest.attempt, chunk.number, chunk.first_line, chunk.lines, chunk.text,
        fencepost.now()
    FROM unnest($7::bigint[], $8::integer[], $9::bigint[], $10::integer[], $11::text[])
        AS chunk (page, number, first_line, lines, text)
    JOIN latest ON latest.page = chunk.page
    ON CONFLICT (namespace, run_key, attempt, number) DO NOTHING
)
SELECT page - 1 AS number FROM latest;
