-- What the inverted index holds, one row per chunk; retired segments are being deleted and no part of it any more. Arrays count from 1 in SQL, ordinals from 0.
--
-- Nested loops are switched off in the functions that unnest: the planner takes an array for ten elements, and a
-- nested loop over two of a hundred thousand never ends.

CREATE OR REPLACE FUNCTION ragledger_audit.live_chunks(collection_id bigint)
RETURNS TABLE (segment_id bigint, ordinal int, chunk_id bigint, length int)
LANGUAGE sql STABLE SET enable_nestloop = off
AS $$
    SELECT s.id, (c.position - 1)::int, c.chunk_id, c.length
    FROM lexical_segment s
         CROSS JOIN LATERAL unnest(s.chunk_ids, s.lengths) WITH ORDINALITY AS c(chunk_id, length, position)
         LEFT JOIN lexical_tombstone t
                ON t.collection_id = s.collection_id AND t.segment_id = s.id AND t.ordinal = c.position - 1
    WHERE s.collection_id = live_chunks.collection_id AND NOT s.retired AND t.ordinal IS NULL
$$;

COMMENT ON FUNCTION ragledger_audit.live_chunks(bigint) IS
    'Every chunk that BM25 can find, with its place in the index and its length in tokens; tombstones are left out.';


CREATE OR REPLACE FUNCTION ragledger_audit.indexed_chunks(collection_id bigint, chunk_ids bigint[])
RETURNS TABLE (segment_id bigint, ordinal int, chunk_id bigint, length int, live boolean)
LANGUAGE sql STABLE SET enable_nestloop = off
AS $$
    -- a chunk that was disabled and enabled again stands in two segments: the live place counts, then the newest
    SELECT DISTINCT ON (c.chunk_id) s.id, (c.position - 1)::int, c.chunk_id, c.length, t.ordinal IS NULL
    FROM lexical_segment s
         CROSS JOIN LATERAL unnest(s.chunk_ids, s.lengths) WITH ORDINALITY AS c(chunk_id, length, position)
         LEFT JOIN lexical_tombstone t
                ON t.collection_id = s.collection_id AND t.segment_id = s.id AND t.ordinal = c.position - 1
    WHERE s.collection_id = indexed_chunks.collection_id AND NOT s.retired AND c.chunk_id = ANY (indexed_chunks.chunk_ids)
    ORDER BY c.chunk_id, t.ordinal IS NULL DESC, s.id DESC
$$;

COMMENT ON FUNCTION ragledger_audit.indexed_chunks(bigint, bigint[]) IS
    'Where given chunks stand in the index, also those under a tombstone, as long as compaction has not dropped them.';
