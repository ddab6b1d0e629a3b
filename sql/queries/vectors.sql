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
-- Exact: the scan reads every vector of the collection. ORDER BY the bare distance, ascending: only this form can also
-- use an HNSW index; ties are broken by the caller. Disabled documents leave by an anti join: NOT IN would fall back
-- to a loop over all of them once their set outgrows work_mem.
SELECT e.chunk_id, 1 - (e.embedding <=> %(vector)b)
FROM embedding e
WHERE e.space_id = %(space_id)s AND e.collection_id = %(collection_id)s
  AND NOT EXISTS (
      SELECT FROM document d JOIN chunk k ON k.collection_id = d.collection_id AND k.document_id = d.id
      WHERE d.collection_id = %(collection_id)s AND d.state = 'disabled' AND k.id = e.chunk_id)
ORDER BY e.embedding <=> %(vector)b
LIMIT %(limit)s;

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
