-- name: find
SELECT id FROM embedding_space
WHERE backend = %(backend)s AND model = %(model)s AND dim = %(dim)s
  AND query_prefix = %(query_prefix)s AND passage_prefix = %(passage_prefix)s AND state = 'active'
ORDER BY id LIMIT 1;

-- name: lock
-- Two processes that need the same new space must not both create it.
SELECT pg_advisory_xact_lock(hashtextextended('ragledger.embedding_space', 0));

-- name: insert
INSERT INTO embedding_space (backend, model, dim, query_prefix, passage_prefix)
VALUES (%(backend)s, %(model)s, %(dim)s, %(query_prefix)s, %(passage_prefix)s)
RETURNING id;

-- name: schema
-- A partition stands beside its table, wherever the search path would put a new one.
SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = 'embedding'::regclass;
