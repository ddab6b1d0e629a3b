-- name: of_terms
-- How often terms stand in given live chunks, from the arrays that BM25 reads; one row without a term for the length of
-- each chunk. Ids and ordinals ascend, so width_bucket() finds a place by binary search. Each OFFSET 0 keeps the planner
-- from reading an array once for every chunk: || reads it once.
WITH place AS MATERIALIZED (
    SELECT s.id AS segment_id, w.chunk_id, w.bucket - 1 AS ordinal, s.lengths[w.bucket] AS length
    FROM (SELECT collection_id, id, chunk_ids || ARRAY[]::bigint[] AS chunk_ids, lengths || ARRAY[]::int[] AS lengths
          FROM lexical_segment WHERE collection_id = %(collection_id)s AND NOT retired OFFSET 0) s
         CROSS JOIN LATERAL (
             SELECT chunk_id, width_bucket(chunk_id, s.chunk_ids) AS bucket
             FROM unnest(%(chunk_ids)s::bigint[]) AS chunk_id
             OFFSET 0) w
    WHERE s.chunk_ids[w.bucket] = w.chunk_id
      AND NOT EXISTS (SELECT FROM lexical_tombstone t
                      WHERE t.collection_id = s.collection_id AND t.segment_id = s.id AND t.ordinal = w.bucket - 1)
)
SELECT place.chunk_id, place.length, NULL, NULL FROM place
UNION ALL
SELECT w.chunk_id, w.length, p.term, p.frequencies[w.bucket]
FROM (SELECT segment_id, term, ordinals || ARRAY[]::int[] AS ordinals, frequencies || ARRAY[]::smallint[] AS frequencies
      FROM lexical_posting
      WHERE collection_id = %(collection_id)s AND term = ANY(%(terms)s)
        AND segment_id = ANY(ARRAY(SELECT DISTINCT place.segment_id FROM place))
      OFFSET 0) p
     CROSS JOIN LATERAL (
         SELECT place.chunk_id, place.length, place.ordinal, width_bucket(place.ordinal, p.ordinals) AS bucket
         FROM place WHERE place.segment_id = p.segment_id
         OFFSET 0) w
WHERE p.ordinals[w.bucket] = w.ordinal;
