-- name: segments
-- The state of the index: segments are immutable, and tombstones only ever come in.
SELECT id, created_at, chunk_count, dead_count, tokenizer FROM lexical_segment
WHERE collection_id = %(collection_id)s AND NOT retired
ORDER BY id;

-- name: chunks
SELECT id, chunk_ids, lengths FROM lexical_segment
WHERE collection_id = %(collection_id)s AND id = ANY(%(segment_ids)s);

-- name: tombstones
SELECT segment_id, array_agg(ordinal ORDER BY ordinal) FROM lexical_tombstone
WHERE collection_id = %(collection_id)s AND segment_id = ANY(%(segment_ids)s)
GROUP BY segment_id;

-- name: of_terms
SELECT segment_id, term, ordinals, frequencies FROM lexical_posting
WHERE collection_id = %(collection_id)s AND segment_id = ANY(%(segment_ids)s) AND term = ANY(%(terms)s);

-- name: declare_rows
-- Sorted by the server, which spills to disk; the arrays are not, they are read when a row is fetched.
DECLARE posting_rows NO SCROLL CURSOR FOR
SELECT segment_id, term, ordinals, frequencies FROM lexical_posting
WHERE collection_id = %(collection_id)s AND segment_id = ANY(%(segment_ids)s)
ORDER BY term;

-- name: fetch_rows
FETCH FORWARD 512 FROM posting_rows;

-- name: close_rows
CLOSE posting_rows;

-- name: insert_segment
INSERT INTO lexical_segment (collection_id, tokenizer, chunk_ids, lengths)
VALUES (%(collection_id)s, %(tokenizer)s, %(chunk_ids)s, %(lengths)s)
RETURNING id;

-- name: copy_postings
COPY lexical_posting (collection_id, segment_id, term, ordinals, frequencies) FROM STDIN (FORMAT binary);

-- name: bury
-- Where the chunks stand, by binary search. Each OFFSET 0 keeps the planner from reading a segment's array, which may
-- have millions of elements, once for every chunk: || reads it once.
WITH place AS MATERIALIZED (
    SELECT s.id AS segment_id, w.bucket - 1 AS ordinal
    FROM (SELECT id, chunk_ids || ARRAY[]::bigint[] AS chunk_ids
          FROM lexical_segment
          WHERE collection_id = %(collection_id)s AND NOT retired
            AND first_chunk_id <= %(last)s AND last_chunk_id >= %(first)s
          OFFSET 0) s
         CROSS JOIN LATERAL (
             SELECT chunk_id, width_bucket(chunk_id, s.chunk_ids) AS bucket
             FROM unnest(%(chunk_ids)s::bigint[]) AS chunk_id
             OFFSET 0) w
    WHERE s.chunk_ids[w.bucket] = w.chunk_id
), buried AS (
    INSERT INTO lexical_tombstone (collection_id, segment_id, ordinal)
    SELECT %(collection_id)s, place.segment_id, place.ordinal FROM place
    ON CONFLICT DO NOTHING
    RETURNING segment_id
)
UPDATE lexical_segment s SET dead_count = s.dead_count + b.dead
FROM (SELECT segment_id, count(*) AS dead FROM buried GROUP BY segment_id) b
WHERE s.collection_id = %(collection_id)s AND s.id = b.segment_id;

-- name: bury_ordinals
WITH buried AS (
    INSERT INTO lexical_tombstone (collection_id, segment_id, ordinal)
    SELECT %(collection_id)s, %(segment_id)s, ordinal FROM unnest(%(ordinals)s::int[]) AS ordinal
    ON CONFLICT DO NOTHING
    RETURNING segment_id
)
UPDATE lexical_segment SET dead_count = dead_count + (SELECT count(*) FROM buried)
WHERE collection_id = %(collection_id)s AND id = %(segment_id)s;

-- name: claim_compaction
-- One compaction at a time for each collection; until the transaction ends.
SELECT pg_try_advisory_xact_lock(hashtextextended('ragledger.compaction', %(collection_id)s));

-- name: retire
-- At the commit no new search reads them; those under way still find all of them in their snapshots.
UPDATE lexical_segment SET retired = true
WHERE collection_id = %(collection_id)s AND id = ANY(%(segment_ids)s);

-- name: retired
SELECT id, chunk_count FROM lexical_segment WHERE collection_id = %(collection_id)s AND retired ORDER BY id;

-- name: delete_postings
-- Some of a segment's, in the order of the key, so that no batch passes over what earlier ones deleted. No row at the end.
WITH batch AS MATERIALIZED (
    SELECT term FROM lexical_posting
    WHERE collection_id = %(collection_id)s AND segment_id = %(segment_id)s AND term > %(after)s
    ORDER BY term LIMIT %(limit)s
), gone AS (
    DELETE FROM lexical_posting
    WHERE collection_id = %(collection_id)s AND segment_id = %(segment_id)s AND term IN (SELECT term FROM batch)
)
SELECT max(term) FROM batch HAVING count(*) = %(limit)s;

-- name: delete_retired
DELETE FROM lexical_segment WHERE collection_id = %(collection_id)s AND id = ANY(%(segment_ids)s) AND retired;
