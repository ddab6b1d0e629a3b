-- name: segments
SELECT id FROM lexical_segment WHERE collection_id = %(collection_id)s ORDER BY id;

-- name: lengths
SELECT id, chunk_ids, lengths FROM lexical_segment
WHERE collection_id = %(collection_id)s AND id = ANY(%(segment_ids)s);

-- name: tombstones
SELECT segment_id, ordinal FROM lexical_tombstone WHERE collection_id = %(collection_id)s;

-- name: of_terms
SELECT segment_id, term, ordinals, frequencies FROM lexical_posting
WHERE collection_id = %(collection_id)s AND segment_id = ANY(%(segment_ids)s) AND term = ANY(%(terms)s);

-- name: whole
SELECT segment_id, term, ordinals, frequencies FROM lexical_posting
WHERE collection_id = %(collection_id)s AND segment_id = ANY(%(segment_ids)s);

-- name: insert_segment
INSERT INTO lexical_segment (collection_id, tokenizer, chunk_ids, lengths)
VALUES (%(collection_id)s, %(tokenizer)s, %(chunk_ids)s, %(lengths)s)
RETURNING id;

-- name: copy_postings
COPY lexical_posting (collection_id, segment_id, term, ordinals, frequencies) FROM STDIN (FORMAT binary);

-- name: bury
INSERT INTO lexical_tombstone (collection_id, segment_id, ordinal)
SELECT %(collection_id)s, t.* FROM unnest(%(segment_ids)s::bigint[], %(ordinals)s::int[]) AS t
ON CONFLICT DO NOTHING;

-- name: sizes
SELECT s.id, cardinality(s.chunk_ids),
       (SELECT count(*) FROM lexical_tombstone t WHERE t.collection_id = s.collection_id AND t.segment_id = s.id),
       s.tokenizer
FROM lexical_segment s WHERE s.collection_id = %(collection_id)s ORDER BY s.id;

-- name: claim_compaction
-- One compaction at a time for each collection; until the transaction ends.
SELECT pg_try_advisory_xact_lock(hashtextextended('ragledger.compaction', %(collection_id)s));

-- name: drop_segments
DELETE FROM lexical_segment WHERE collection_id = %(collection_id)s AND id = ANY(%(segment_ids)s);
