-- name: find
-- Every HNSW index of a space's partition, the newest first; none where it was dropped. An invalid one is what a failed
-- or running build left.
SELECT c.relname, i.indisvalid, format_type(a.atttypid, a.atttypmod), pg_relation_size(c.oid)
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
                JOIN pg_attribute a ON a.attrelid = i.indexrelid AND a.attnum = 1
WHERE i.indrelid = to_regclass(%(partition)s) AND m.amname = 'hnsw'
ORDER BY i.indexrelid DESC;

-- name: count
-- Chunks that a search of a collection sees, by what the inverted index says: counting them would read them all.
SELECT coalesce(sum(chunk_count - dead_count), 0)::bigint FROM lexical_segment
WHERE collection_id = %(collection_id)s AND NOT retired;

-- name: claim
-- One build at a time for each space; until the session ends, however it does.
SELECT pg_try_advisory_lock(hashtextextended('ragledger.index', %(space_id)s));

-- name: prepare
-- A graph that outgrows maintenance_work_mem is built on, but many times slower. More workers than the server allows
-- are not started.
SELECT set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false),
       set_config('maintenance_work_mem', %(kilobytes)s::text || 'kB', false),
       set_config('max_parallel_maintenance_workers', %(workers)s::text, false);

-- name: patience
SELECT set_config('lock_timeout', %(milliseconds)s::text, false);

-- name: alone
SET max_parallel_maintenance_workers = 0;

-- name: progress
SELECT phase, tuples_done, greatest(tuples_total, tuples_done)
FROM pg_stat_progress_create_index WHERE relid = to_regclass(%(partition)s);
