-- The steps from raw scores to the final one, as app/query/fuse.py and app/query/rerank state them. Each takes the
-- scores of a whole question at once, so their bounds come as arguments: min() OVER () and the like.

CREATE OR REPLACE FUNCTION ragledger_audit.difference(stored float8, recomputed float8, required boolean)
RETURNS float8
LANGUAGE sql IMMUTABLE
AS $$
    SELECT CASE WHEN stored IS NULL AND recomputed IS NULL THEN NULL
                WHEN stored IS NOT NULL AND recomputed IS NOT NULL THEN abs(stored - recomputed)
                WHEN required THEN 'Infinity' END
$$;

COMMENT ON FUNCTION ragledger_audit.difference(float8, float8, boolean) IS
    'The distance of two scores; infinite where only one of them is known although both must be.';


CREATE OR REPLACE FUNCTION ragledger_audit.are_equal(low float8, high float8)
RETURNS boolean
LANGUAGE sql IMMUTABLE
AS $$
    -- scores that differ only by rounding count as equal, as in app/query/fuse.py
    SELECT high - low <= 1e-12 * greatest(abs(high), abs(low), 1)
$$;

COMMENT ON FUNCTION ragledger_audit.are_equal(float8, float8) IS
    'Whether the lowest and the highest of a question''s scores are the same but for rounding.';


CREATE OR REPLACE FUNCTION ragledger_audit.minmax(score float8, low float8, high float8)
RETURNS float8
LANGUAGE sql IMMUTABLE
AS $$
    SELECT CASE WHEN score IS NULL THEN 0
                WHEN ragledger_audit.are_equal(low, high) THEN 1
                ELSE (score - low) / (high - low) END
$$;

COMMENT ON FUNCTION ragledger_audit.minmax(float8, float8, float8) IS
    'Scale a score to [0, 1]: an unknown one is 0, equal ones are 1.';


CREATE OR REPLACE FUNCTION ragledger_audit.zscore(
    score float8, low float8, high float8, mean float8, deviation float8)
RETURNS float8
LANGUAGE sql IMMUTABLE
AS $$
    SELECT CASE WHEN score IS NULL OR ragledger_audit.are_equal(low, high) THEN 0 ELSE (score - mean) / deviation END
$$;

COMMENT ON FUNCTION ragledger_audit.zscore(float8, float8, float8, float8, float8) IS
    'Scale a score to mean 0 and population standard deviation 1: unknown and equal ones are 0.';


CREATE OR REPLACE FUNCTION ragledger_audit.reciprocal(rank int, rrf_k int)
RETURNS float8
LANGUAGE sql IMMUTABLE
AS $$
    SELECT coalesce(1 / (rrf_k + rank)::float8, 0)
$$;

COMMENT ON FUNCTION ragledger_audit.reciprocal(int, int) IS
    'What a rank on a path''s own list is worth in reciprocal rank fusion; 0 where the chunk is not on it.';


CREATE OR REPLACE FUNCTION ragledger_audit.parameters(query_id uuid)
RETURNS TABLE (
    id uuid, collection_id bigint, space_id bigint, revision_unchanged boolean, k1 float8, b float8, fusion text,
    rrf_k int, vector_weight float8, bm25_weight float8, confidence_c0 float8, confidence float8, bound float8,
    reranker text, rerank_depth int, rerank_weight float8, coverage_weight float8, lexical jsonb)
LANGUAGE sql STABLE
AS $$
    -- a row of an earlier version names no method: it had only these
    SELECT q.id, q.collection_id, q.space_id, q.revision = c.revision, p.k1, p.b, f.fusion, coalesce(p.rrf_k, 60),
           CASE WHEN f.fusion = 'rrf' THEN 1 ELSE p.vector_weight END,
           CASE WHEN f.fusion = 'rrf' THEN 1
                WHEN f.fusion = 'minmax_confidence' THEN p.bm25_weight * q.confidence
                ELSE p.bm25_weight END,
           p.confidence_c0, q.confidence, (q.lexical ->> 'bound')::float8, coalesce(p.reranker, 'spans'),
           p.rerank_depth, p.rerank_weight, coalesce(p.rerank_coverage_weight, 0), q.lexical
    FROM query_log q
         JOIN collection c ON c.id = q.collection_id
         CROSS JOIN LATERAL jsonb_to_record(q.parameters) AS p(
             k1 float8, b float8, fusion text, rrf_k int, vector_weight float8, bm25_weight float8,
             confidence_c0 float8, reranker text, rerank_depth int, rerank_weight float8, rerank_coverage_weight float8)
         CROSS JOIN LATERAL (SELECT coalesce(p.fusion, 'minmax_confidence') AS fusion) f
    WHERE q.id = parameters.query_id
$$;

COMMENT ON FUNCTION ragledger_audit.parameters(uuid) IS
    'How a question was ranked; the two weights are those that its fusion really used.';
