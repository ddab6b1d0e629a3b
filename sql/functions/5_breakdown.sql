-- What a question's scores are made of: per path the bounds that normalised it, per term what it added.

CREATE OR REPLACE FUNCTION ragledger_audit.paths(query_id uuid)
RETURNS TABLE (
    path text, method text, weight float8, known bigint, listed bigint, low float8, high float8, mean float8,
    deviation float8)
LANGUAGE sql STABLE
AS $$
    SELECT s.path, s.method, s.weight, count(s.score), count(s.rank), min(s.score), max(s.score), avg(s.score),
           stddev_pop(s.score)
    FROM ragledger_audit.parameters(paths.query_id) p
         JOIN query_hit h ON h.collection_id = p.collection_id AND h.query_id = p.id
         CROSS JOIN LATERAL (VALUES
             (1, 'vector', p.fusion, p.vector_weight, h.cosine, h.vector_rank),
             (2, 'bm25', p.fusion, p.bm25_weight, h.bm25, h.bm25_rank),
             (3, 'rerank', p.reranker, p.rerank_weight, h.rerank_score,
              CASE WHEN h.rerank_score IS NOT NULL THEN h.fused_rank END)
         ) AS s(place, path, method, weight, score, rank)
    GROUP BY s.place, s.path, s.method, s.weight
    ORDER BY s.place
$$;

COMMENT ON FUNCTION ragledger_audit.paths(uuid) IS
    'Per path of a question: how it was normalised, over which bounds, and the weight that it really had. "known" '
    'candidates have a score of it, "listed" ones stood on its own list.';


CREATE OR REPLACE FUNCTION ragledger_audit.terms(query_id uuid, ranks int DEFAULT NULL)
RETURNS TABLE (
    rank int, chunk_id bigint, term text, count int, tf int, df bigint, idf float8, length int, mean_length float8,
    score float8)
LANGUAGE sql STABLE
AS $$
    SELECT h.rank, h.chunk_id, t.term, s.count, t.tf, s.df, t.idf, t.length, (p.lexical ->> 'mean_length')::float8,
           t.score
    FROM ragledger_audit.parameters(terms.query_id) p
         CROSS JOIN LATERAL ragledger_audit.bm25_terms(
             p.collection_id, p.lexical, p.k1, p.b,
             ARRAY(SELECT b.chunk_id FROM query_hit b
                   WHERE b.collection_id = p.collection_id AND b.query_id = p.id
                     AND (terms.ranks IS NULL OR b.rank <= terms.ranks))) t
         JOIN query_hit h ON h.collection_id = p.collection_id AND h.query_id = p.id AND h.chunk_id = t.chunk_id
         JOIN jsonb_to_recordset(p.lexical -> 'terms') AS s(term text, count int, df bigint) ON s.term = t.term
    ORDER BY h.rank, t.score DESC, t.term
$$;

COMMENT ON FUNCTION ragledger_audit.terms(uuid, int) IS
    'What each term of a question added to the BM25 of its first candidates, with the statistics that it was asked '
    'with. "count" is how often the question holds the term.';
