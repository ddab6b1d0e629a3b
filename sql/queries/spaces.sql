-- name: find
SELECT id, fingerprint FROM embedding_space
WHERE backend = %(backend)s AND model = %(model)s AND dim = %(dim)s
  AND query_prefix = %(query_prefix)s AND passage_prefix = %(passage_prefix)s AND state <> 'retired';

-- name: lock
-- Two processes that need the same new space must not both create it, and none may retire what another takes into use.
SELECT pg_advisory_xact_lock(hashtextextended('ragledger.embedding_space', 0));

-- name: insert
INSERT INTO embedding_space (backend, model, dim, query_prefix, passage_prefix, state, fingerprint)
VALUES (%(backend)s, %(model)s, %(dim)s, %(query_prefix)s, %(passage_prefix)s, %(state)s, %(fingerprint)s)
RETURNING id;

-- name: mark
UPDATE embedding_space SET fingerprint = coalesce(fingerprint, %(fingerprint)s),
                           state = CASE state WHEN 'building' THEN %(state)s ELSE state END
WHERE id = %(space_id)s AND (fingerprint IS NULL OR state = 'building' AND %(state)s = 'active');

-- name: activate
UPDATE embedding_space SET state = 'active' WHERE id = %(space_id)s AND state = 'building';

-- name: retire_unused
-- A space that is not named here is only retired where it was never searched: an empty one may be a collection's soon.
UPDATE embedding_space s SET state = 'retired'
WHERE s.state <> 'retired'
  AND CASE WHEN %(space_id)s::bigint IS NULL THEN s.state = 'building' ELSE s.id = %(space_id)s END
  AND NOT EXISTS (SELECT FROM collection c WHERE c.space_id = s.id)
  AND NOT EXISTS (SELECT FROM reembedding r WHERE r.space_id = s.id);

-- name: retired
SELECT s.id FROM embedding_space s
WHERE s.state = 'retired'
  AND EXISTS (SELECT FROM pg_class p
              WHERE p.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'embedding'::regclass)
                AND p.relname IN ('embedding_s' || s.id, 'span_embedding_s' || s.id, 'qa_embedding_s' || s.id))
ORDER BY s.id;

-- name: patience
SELECT set_config('lock_timeout', %(milliseconds)s::text, true);

-- name: lock_out_writers
-- A new partition's foreign keys take SHARE ROW EXCLUSIVE on what they refer to, which writers lock before the vectors.
-- Writers begin with a row of `collection`; reading it goes on.
LOCK TABLE collection IN EXCLUSIVE MODE;

-- name: lock_out_writers_and_readers
-- Dropping a foreign key locks what it refers to. Searches and writers read `collection` first, so that those under way
-- are awaited there and new ones wait behind; the others come in the order in which statements name them. LOCK TABLE
-- takes the partitions with their table.
LOCK TABLE collection, chunk, span, qa_pair, embedding, span_embedding, qa_embedding IN ACCESS EXCLUSIVE MODE;

-- name: moment
SELECT clock_timestamp();

-- name: in_use_since
-- Transactions that began before a moment may still see what was replaced then. Those of other roles are not told.
SELECT EXISTS (
    SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
      AND xact_start < %(moment)s);

-- name: schema
-- A partition stands beside its table, wherever the search path would put a new one.
SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = 'embedding'::regclass;

-- name: partition
-- reltuples is -1 before the first ANALYZE. The index's column has the type that its expression casts to.
SELECT greatest(p.reltuples, 0)::bigint,
       (SELECT format_type(a.atttypid, a.atttypmod)
        FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
                        JOIN pg_attribute a ON a.attrelid = i.indexrelid AND a.attnum = 1
        WHERE i.indrelid = p.oid AND i.indisvalid AND m.amname = 'hnsw'
        ORDER BY i.indexrelid DESC LIMIT 1)
FROM pg_class p
WHERE p.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'embedding'::regclass)
  AND p.relname = 'embedding_s' || %(space_id)s;
