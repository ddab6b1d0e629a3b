-- name: claim
-- One change of a collection's model at a time; until the session ends, however it does.
SELECT pg_try_advisory_lock(hashtextextended('ragledger.reembed', %(collection_id)s));

-- name: find
SELECT s.id, s.backend, s.model, s.dim, s.query_prefix, s.passage_prefix, s.fingerprint
FROM reembedding r JOIN embedding_space s ON s.id = r.space_id
WHERE r.collection_id = %(collection_id)s;

-- name: begin
INSERT INTO reembedding (collection_id, space_id) VALUES (%(collection_id)s, %(space_id)s)
ON CONFLICT (collection_id) DO NOTHING;

-- name: end
DELETE FROM reembedding WHERE collection_id = %(collection_id)s AND space_id = %(space_id)s RETURNING space_id;

-- name: counts
-- Chunks of a collection, and how many of them have a vector in a space.
SELECT (SELECT count(*) FROM chunk WHERE collection_id = %(collection_id)s),
       (SELECT count(*) FROM embedding WHERE space_id = %(space_id)s AND collection_id = %(collection_id)s);

-- name: newest
SELECT coalesce(max(id), 0) FROM chunk WHERE collection_id = %(collection_id)s;

-- name: page
-- Chunks that lack their vector in a space, or that of a span, in the order of their ids. Those of disabled documents too.
SELECT k.id, k.text,
       (SELECT array_agg(ARRAY[s.start_char, s.end_char] ORDER BY s.ordinal) FROM span s
        WHERE s.collection_id = k.collection_id AND s.chunk_id = k.id)
FROM chunk k
WHERE k.collection_id = %(collection_id)s AND k.id > %(after)s AND k.id <= %(newest)s
  AND (NOT EXISTS (SELECT FROM embedding e
                   WHERE e.space_id = %(space_id)s AND e.collection_id = k.collection_id AND e.chunk_id = k.id)
       OR EXISTS (SELECT FROM span s
                  WHERE s.collection_id = k.collection_id AND s.chunk_id = k.id
                    AND NOT EXISTS (SELECT FROM span_embedding e
                                    WHERE e.space_id = %(space_id)s AND e.collection_id = s.collection_id
                                      AND e.chunk_id = s.chunk_id AND e.ordinal = s.ordinal)))
ORDER BY k.id
LIMIT %(limit)s;

-- name: without_vector
-- The same by one anti join over the collection, for when writers wait: a chunk that has its vector has its spans' too.
SELECT k.id, k.text,
       (SELECT array_agg(ARRAY[s.start_char, s.end_char] ORDER BY s.ordinal) FROM span s
        WHERE s.collection_id = k.collection_id AND s.chunk_id = k.id)
FROM chunk k
WHERE k.collection_id = %(collection_id)s
  AND NOT EXISTS (SELECT FROM embedding e
                  WHERE e.space_id = %(space_id)s AND e.collection_id = %(collection_id)s AND e.chunk_id = k.id)
LIMIT %(limit)s;

-- name: half_embedded
-- Spans without a vector, of chunks that have one.
SELECT count(*)
FROM span s JOIN embedding c ON c.space_id = %(space_id)s AND c.collection_id = s.collection_id AND c.chunk_id = s.chunk_id
WHERE s.collection_id = %(collection_id)s
  AND NOT EXISTS (SELECT FROM span_embedding e
                  WHERE e.space_id = %(space_id)s AND e.collection_id = %(collection_id)s
                    AND e.chunk_id = s.chunk_id AND e.ordinal = s.ordinal);

-- name: hold_chunks
-- Of given chunks those that are there and that nobody is deleting; until the transaction ends nobody does. To wait for
-- one that is being deleted could be to wait for a writer that waits for this transaction.
SELECT id FROM chunk WHERE collection_id = %(collection_id)s AND id = ANY(%(chunk_ids)s) FOR KEY SHARE SKIP LOCKED;

-- name: point
UPDATE collection SET space_id = %(space_id)s WHERE id = %(collection_id)s;

-- name: sample
-- Chunks at random, each with its spans, and how much there is in all: what an estimate is made from.
SELECT k.text,
       (SELECT array_agg(ARRAY[s.start_char, s.end_char] ORDER BY s.ordinal) FROM span s
        WHERE s.collection_id = k.collection_id AND s.chunk_id = k.id)
FROM chunk k
WHERE k.collection_id = %(collection_id)s
ORDER BY md5(k.id::text)
LIMIT %(limit)s;

-- name: amounts
SELECT count(*), count(DISTINCT k.text_sha256), coalesce(sum(char_length(k.text)), 0),
       (SELECT count(*) FROM span s WHERE s.collection_id = %(collection_id)s)
FROM chunk k WHERE k.collection_id = %(collection_id)s;
