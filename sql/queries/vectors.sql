-- name: known_chunks
-- Vectors of equal text in the same collection and space: the same text is never embedded twice.
-- One chunk for each text: a boilerplate paragraph may stand in thousands.
SELECT wanted.text_sha256, known.id
FROM unnest(%(hashes)s::text[]) AS wanted(text_sha256), LATERAL (
    SELECT k.id
    FROM chunk k JOIN embedding e ON e.space_id = %(space_id)s AND e.collection_id = k.collection_id AND e.chunk_id = k.id
    WHERE k.collection_id = %(collection_id)s AND k.text_sha256 = wanted.text_sha256
    LIMIT 1) AS known;

-- name: copy_embedding
COPY embedding (space_id, collection_id, chunk_id, embedding) FROM STDIN (FORMAT binary);

-- name: copy_span_embedding
COPY span_embedding (space_id, collection_id, chunk_id, ordinal, embedding) FROM STDIN (FORMAT binary);

-- name: of_chunks
SELECT chunk_id, embedding FROM embedding
WHERE space_id = %(space_id)s AND collection_id = %(collection_id)s AND chunk_id = ANY(%(chunk_ids)s);

-- name: of_spans
SELECT s.chunk_id, s.start_char, s.end_char, e.embedding
FROM span s JOIN span_embedding e ON e.space_id = %(space_id)s AND e.collection_id = s.collection_id
                                 AND e.chunk_id = s.chunk_id AND e.ordinal = s.ordinal
WHERE s.collection_id = %(collection_id)s AND s.chunk_id = ANY(%(chunk_ids)s)
ORDER BY s.chunk_id, s.ordinal;

-- name: nearest
-- Exact: the scan reads every vector of the collection. Disabled documents leave by an anti join: NOT IN would fall back
-- to a loop over all of them once their set outgrows work_mem. The subquery has each distance computed once, not twice.
SELECT chunk_id, 1 - distance
FROM (SELECT e.chunk_id, e.embedding <=> %(vector)b AS distance
      FROM embedding e
      WHERE e.space_id = %(space_id)s AND e.collection_id = %(collection_id)s
        AND NOT EXISTS (
            SELECT FROM document d JOIN chunk k ON k.collection_id = d.collection_id AND k.document_id = d.id
            WHERE d.collection_id = %(collection_id)s AND d.state = 'disabled' AND k.id = e.chunk_id)
      ORDER BY distance
      LIMIT %(limit)s) AS nearest;

-- name: nearest_among
-- Exact, over chunks that are known to be findable.
SELECT chunk_id, 1 - distance
FROM (SELECT chunk_id, embedding <=> %(vector)b AS distance
      FROM embedding
      WHERE space_id = %(space_id)s AND collection_id = %(collection_id)s AND chunk_id = ANY(%(chunk_ids)s)
      ORDER BY distance
      LIMIT %(limit)s) AS nearest;

-- name: nearest_indexed
-- By the HNSW index of the space's partition: only ORDER BY this bare distance, in the index's own type
-- (`indexed_type` is put in by app.db.vectors), reaches it. The cosine is of the stored vector, also where the index
-- holds half precision; ties are broken by the caller. OFFSET 0 keeps the condition a subplan that is asked of one
-- candidate at a time: a join could be planned the other way round. It is not asked where nothing can fail it.
SELECT e.chunk_id, 1 - (e.embedding <=> %(vector)b)
FROM embedding e
WHERE e.space_id = %(space_id)s AND e.collection_id = %(collection_id)s
  AND (NOT (%(filtered)s
            OR EXISTS (SELECT FROM document WHERE collection_id = %(collection_id)s AND state = 'disabled'))
       OR EXISTS (
    SELECT FROM chunk k JOIN document d ON d.collection_id = k.collection_id AND d.id = k.document_id
    WHERE k.collection_id = %(collection_id)s AND d.collection_id = %(collection_id)s AND k.id = e.chunk_id
      AND d.state = 'active'
      AND (%(filter_metadata)s::jsonpath IS NULL OR d.metadata @@ %(filter_metadata)s::jsonpath)
      AND (%(filter_source_prefix)s::text IS NULL OR d.source ^@ %(filter_source_prefix)s)
      AND (%(filter_document_ids)s::bigint[] IS NULL OR d.id = ANY(%(filter_document_ids)s))
      AND (%(filter_created_at)s::tstzrange IS NULL OR d.created_at <@ %(filter_created_at)s::tstzrange)
      AND (%(filter_updated_at)s::tstzrange IS NULL OR d.updated_at <@ %(filter_updated_at)s::tstzrange)
      AND (%(filter_section)s::text IS NULL
           OR k.section = %(filter_section)s OR k.section ^@ (%(filter_section)s || ' > '))
    OFFSET 0))
ORDER BY e.embedding::indexed_type <=> %(vector)b::indexed_type
LIMIT %(limit)s;

-- name: tune
-- For this transaction. enable_sort: where vectors are stored out of line the planner takes a scan of all of them for
-- cheap. strict_order goes on behind the first ef_search candidates until enough of them pass the conditions.
SELECT set_config('hnsw.iterative_scan', 'strict_order', true),
       set_config('hnsw.ef_search', %(ef_search)s::text, true),
       set_config('hnsw.max_scan_tuples', %(max_scan_tuples)s::text, true),
       set_config('hnsw.scan_mem_multiplier', '8', true),
       set_config('enable_sort', 'off', true);

-- name: untune
SET LOCAL enable_sort TO DEFAULT;

-- name: cosines
SELECT chunk_id, 1 - (embedding <=> %(vector)b)
FROM embedding
WHERE space_id = %(space_id)s AND collection_id = %(collection_id)s AND chunk_id = ANY(%(chunk_ids)s);

-- name: span_cosines
-- The span vectors are halfvec; the question is cast the same way, so that ledger and audit compare like with like.
SELECT s.chunk_id, s.start_char, s.end_char, 1 - (e.embedding <=> %(vector)b::halfvec)
FROM span s LEFT JOIN span_embedding e ON e.space_id = %(space_id)s AND e.collection_id = s.collection_id
                                      AND e.chunk_id = s.chunk_id AND e.ordinal = s.ordinal
WHERE s.collection_id = %(collection_id)s AND s.chunk_id = ANY(%(chunk_ids)s)
ORDER BY s.chunk_id, s.ordinal;

-- name: remove_of_chunks
-- In one space: of chunks and of their spans.
WITH spans AS (
    DELETE FROM span_embedding
    WHERE space_id = %(space_id)s AND collection_id = %(collection_id)s AND chunk_id = ANY(%(chunk_ids)s))
DELETE FROM embedding
WHERE space_id = %(space_id)s AND collection_id = %(collection_id)s AND chunk_id = ANY(%(chunk_ids)s);

-- name: some_chunks
-- Chunks of a collection that have a vector in a space, of their own or of a span.
(SELECT chunk_id FROM embedding WHERE space_id = %(space_id)s AND collection_id = %(collection_id)s LIMIT %(limit)s)
UNION
(SELECT chunk_id FROM span_embedding WHERE space_id = %(space_id)s AND collection_id = %(collection_id)s LIMIT %(limit)s);

-- name: other_spaces
-- Spaces in which a collection has vectors, besides its own and the one that it is to get.
SELECT s.id FROM embedding_space s JOIN collection c ON c.id = %(collection_id)s
WHERE s.state <> 'retired' AND s.id <> c.space_id
  AND NOT EXISTS (SELECT FROM reembedding r WHERE r.collection_id = c.id AND r.space_id = s.id)
  AND (EXISTS (SELECT FROM embedding e WHERE e.space_id = s.id AND e.collection_id = %(collection_id)s)
       OR EXISTS (SELECT FROM span_embedding e WHERE e.space_id = s.id AND e.collection_id = %(collection_id)s))
ORDER BY s.id;
