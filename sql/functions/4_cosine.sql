-- Cosines of stored vectors, read by chunk. Higher is better: distances stop here.

CREATE OR REPLACE FUNCTION ragledger_audit.cosines(
    space_id bigint, collection_id bigint, question vector, chunk_ids bigint[])
RETURNS TABLE (chunk_id bigint, cosine float8)
LANGUAGE sql STABLE
AS $$
    SELECT e.chunk_id, 1 - (e.embedding <=> cosines.question)
    FROM embedding e
    WHERE e.space_id = cosines.space_id AND e.collection_id = cosines.collection_id
      AND e.chunk_id = ANY (cosines.chunk_ids)
$$;

COMMENT ON FUNCTION ragledger_audit.cosines(bigint, bigint, vector, bigint[]) IS
    'The cosine of given chunks to a question''s vector; no row for a chunk without a vector in that space.';


CREATE OR REPLACE FUNCTION ragledger_audit.best_spans(
    space_id bigint, collection_id bigint, question vector, chunk_ids bigint[])
RETURNS TABLE (chunk_id bigint, start_char int, end_char int, cosine float8)
LANGUAGE sql STABLE
AS $$
    -- span vectors are halfvec; the question is cast the same way, as in sql/queries/vectors.sql
    SELECT DISTINCT ON (s.chunk_id) s.chunk_id, s.start_char, s.end_char, c.cosine
    FROM span_embedding e
         JOIN span s ON s.collection_id = e.collection_id AND s.chunk_id = e.chunk_id AND s.ordinal = e.ordinal
         CROSS JOIN LATERAL (SELECT 1 - (e.embedding <=> best_spans.question::halfvec) AS cosine) c
    WHERE e.space_id = best_spans.space_id AND e.collection_id = best_spans.collection_id
      AND e.chunk_id = ANY (best_spans.chunk_ids)
    ORDER BY s.chunk_id, c.cosine DESC, s.ordinal
$$;

COMMENT ON FUNCTION ragledger_audit.best_spans(bigint, bigint, vector, bigint[]) IS
    'The span of highest cosine of each given chunk, of equal ones the first; offsets are within the chunk''s text.';
