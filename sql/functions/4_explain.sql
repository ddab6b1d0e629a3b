-- Recompute what a question's ledger rows say. Raw scores (cosine, BM25, coverage, best span) come from the vectors and postings
-- of now; every later step is recomputed from the stored scores of the step before it. So one wrong number is named
-- where it stands and not smeared over all that follows, and the later steps can be checked when chunks are long gone.
--
-- Taken as stored, since SQL cannot know them: the scores of rerankers other than spans, and the resemblance of
-- duplicates.

CREATE OR REPLACE FUNCTION ragledger_audit.recomputed(query_id uuid)
RETURNS TABLE (
    chunk_id bigint, state text, cosine float8, bm25 float8, coverage float8, span_cosine float8, span_start_char int,
    span_end_char int)
LANGUAGE sql STABLE
AS $$
    WITH asked AS MATERIALIZED (
        SELECT p.*, q.embedding,
               -- the statistics of now are the question's own only as long as nothing has changed
               CASE WHEN p.revision_unchanged THEN ragledger_audit.bm25_lexical(q.collection_id, q.tokens)
                    ELSE q.lexical END AS statistics
        FROM ragledger_audit.parameters(recomputed.query_id) p
             JOIN query_log q ON q.collection_id = p.collection_id AND q.id = p.id
    ), hit AS MATERIALIZED (
        SELECT h.collection_id, h.chunk_id, h.fused_rank,
               CASE WHEN k.id IS NULL THEN 'gone'
                    WHEN k.text_sha256 <> h.text_sha256 THEN 'changed'
                    WHEN d.state <> 'active' THEN d.state
                    ELSE 'as logged' END AS state
        FROM asked
             JOIN query_hit h ON h.collection_id = asked.collection_id AND h.query_id = asked.id
             LEFT JOIN chunk k ON k.collection_id = h.collection_id AND k.id = h.chunk_id
             LEFT JOIN document d ON d.collection_id = k.collection_id AND d.id = k.document_id
    ), kept AS MATERIALIZED (
        -- the depth counts in the stored ranks: the rerank read the spans of these chunks and of no others
        SELECT coalesce(array_agg(hit.chunk_id), '{}') AS ids,
               coalesce(array_agg(hit.chunk_id) FILTER (WHERE hit.fused_rank <= asked.rerank_depth), '{}') AS reranked
        FROM asked CROSS JOIN hit
        WHERE hit.state NOT IN ('gone', 'changed')
    ), term AS (
        -- coverage: the held terms' share of all, by count times idf
        SELECT t.chunk_id, sum(t.score) AS bm25, sum(a.count * a.idf) / min(a.whole) AS coverage
        FROM asked CROSS JOIN kept
             CROSS JOIN LATERAL ragledger_audit.bm25_terms(
                 asked.collection_id, asked.statistics, asked.k1, asked.b, kept.ids) t
             CROSS JOIN LATERAL (
                 SELECT s.term, s.count, s.idf, sum(s.count * s.idf) OVER () AS whole
                 FROM jsonb_to_recordset(asked.statistics -> 'terms') AS s(term text, count int, idf float8)) a
        WHERE a.term = t.term
        GROUP BY t.chunk_id
    ), lexical AS (
        -- a chunk in the index without any of the terms scores 0, one that is not in the index is unknown
        SELECT i.chunk_id, coalesce(term.bm25, 0) AS bm25, coalesce(term.coverage, 0) AS coverage
        FROM asked CROSS JOIN kept
             CROSS JOIN LATERAL ragledger_audit.indexed_chunks(asked.collection_id, kept.ids) i
             LEFT JOIN term ON term.chunk_id = i.chunk_id
    ), vector AS (
        SELECT v.chunk_id, v.cosine
        FROM asked CROSS JOIN kept
             CROSS JOIN LATERAL ragledger_audit.cosines(
                 asked.space_id, asked.collection_id, asked.embedding, kept.ids) v
    ), span AS (
        SELECT b.chunk_id, b.start_char, b.end_char, b.cosine
        FROM asked CROSS JOIN kept
             CROSS JOIN LATERAL ragledger_audit.best_spans(
                 asked.space_id, asked.collection_id, asked.embedding, kept.reranked) b
    )
    SELECT hit.chunk_id, hit.state, vector.cosine, lexical.bm25, lexical.coverage, span.cosine, span.start_char,
           span.end_char
    FROM hit
         LEFT JOIN vector ON vector.chunk_id = hit.chunk_id
         LEFT JOIN lexical ON lexical.chunk_id = hit.chunk_id
         LEFT JOIN span ON span.chunk_id = hit.chunk_id
$$;

COMMENT ON FUNCTION ragledger_audit.recomputed(uuid) IS
    'The raw scores of a question''s candidates from the tables of now, NULL where the chunk is gone or changed. BM25 '
    'and coverage use the statistics of now while the collection''s revision is the logged one, else those the ledger kept.';


CREATE OR REPLACE FUNCTION ragledger_audit.explain(query_id uuid)
RETURNS TABLE (
    rank int, final_rank bigint, chunk_id bigint, source text, state text, picked boolean, cited boolean,
    collapsed_into bigint, resemblance float8, other_language boolean,
    vector_rank int, bm25_rank int, fused_rank int, ranks_agree boolean,
    cosine float8, cosine_recomputed float8, cosine_difference float8,
    bm25 float8, bm25_recomputed float8, bm25_difference float8,
    coverage float8, coverage_recomputed float8, coverage_difference float8,
    vector_norm float8, vector_norm_recomputed float8, vector_norm_difference float8,
    bm25_norm float8, bm25_norm_recomputed float8, bm25_norm_difference float8,
    fused float8, fused_recomputed float8, fused_difference float8,
    span_cosine float8, span_cosine_recomputed float8, span_cosine_difference float8,
    span_start_char int, span_end_char int,
    rerank_score float8, rerank_score_recomputed float8, rerank_score_difference float8,
    score float8, score_recomputed float8, score_difference float8,
    largest_difference float8, revision_unchanged boolean)
LANGUAGE sql STABLE
AS $$
    WITH asked AS MATERIALIZED (
        SELECT * FROM ragledger_audit.parameters(explain.query_id)
    ), stepped AS (
        SELECT h.*, p.revision_unchanged AS unchanged, p.reranker, r.state,
               r.cosine AS cosine_2, r.bm25 AS bm25_2, r.coverage AS coverage_2, r.span_cosine AS span_cosine_2,
               r.span_start_char, r.span_end_char,
               CASE p.fusion
                   WHEN 'score' THEN coalesce(h.cosine, 0)
                   WHEN 'zscore' THEN ragledger_audit.zscore(
                       h.cosine, min(h.cosine) OVER (), max(h.cosine) OVER (), avg(h.cosine) OVER (),
                       stddev_pop(h.cosine) OVER ())
                   WHEN 'rrf' THEN ragledger_audit.reciprocal(h.vector_rank, p.rrf_k)
                   WHEN 'weighted_rrf' THEN ragledger_audit.reciprocal(h.vector_rank, p.rrf_k)
                   ELSE ragledger_audit.minmax(h.cosine, min(h.cosine) OVER (), max(h.cosine) OVER ())
               END AS vector_norm_2,
               CASE p.fusion
                   WHEN 'score' THEN CASE WHEN p.bound > 0 THEN h.bm25 / p.bound ELSE 0 END
                   WHEN 'zscore' THEN ragledger_audit.zscore(
                       h.bm25, min(h.bm25) OVER (), max(h.bm25) OVER (), avg(h.bm25) OVER (),
                       stddev_pop(h.bm25) OVER ())
                   WHEN 'rrf' THEN ragledger_audit.reciprocal(h.bm25_rank, p.rrf_k)
                   WHEN 'weighted_rrf' THEN ragledger_audit.reciprocal(h.bm25_rank, p.rrf_k)
                   WHEN 'minmax' THEN ragledger_audit.minmax(h.bm25, min(h.bm25) OVER (), max(h.bm25) OVER ())
                   ELSE greatest(
                       ragledger_audit.minmax(h.bm25, min(h.bm25) OVER (), max(h.bm25) OVER ()),
                       -- what BM25 cannot judge is left to the vectors
                       CASE WHEN h.other_language AND p.vector_weight > 0 THEN h.vector_norm END)
               END AS bm25_norm_2,
               p.vector_weight * h.vector_norm + p.bm25_weight * h.bm25_norm AS fused_2,
               CASE WHEN p.reranker = 'spans' THEN h.span_cosine + p.coverage_weight * greatest(
                   coalesce(h.coverage, 0),
                   -- what words cannot judge is left to the spans
                   CASE WHEN h.other_language THEN ragledger_audit.minmax(
                       h.span_cosine, min(h.span_cosine) OVER (), max(h.span_cosine) OVER ()) END)
               END AS rerank_score_2,
               -- without a rerank the score is the fused one: minmax() of nothing is 0
               h.fused + p.rerank_weight
                   * ragledger_audit.minmax(h.rerank_score, min(h.rerank_score) OVER (), max(h.rerank_score) OVER ())
                   AS score_2,
               -- ties go to the smaller chunk id; a path's own list holds only the chunks that it ranked
               h.fused_rank = row_number() OVER (ORDER BY h.fused DESC, h.chunk_id)
                   AND h.rank = row_number() OVER (ORDER BY h.score DESC, h.chunk_id)
                   AND coalesce(h.vector_rank = row_number() OVER (
                           PARTITION BY h.vector_rank IS NULL ORDER BY h.cosine DESC, h.chunk_id), true)
                   AND coalesce(h.bm25_rank = row_number() OVER (
                           PARTITION BY h.bm25_rank IS NULL ORDER BY h.bm25 DESC, h.chunk_id), true) AS ranks_agree,
               CASE WHEN h.picked THEN row_number() OVER (PARTITION BY h.picked ORDER BY h.rank) END AS final_rank
        FROM asked p
             JOIN query_hit h ON h.collection_id = p.collection_id AND h.query_id = p.id
             JOIN ragledger_audit.recomputed(explain.query_id) r ON r.chunk_id = h.chunk_id
    ), compared AS (
        SELECT s.*,
               ragledger_audit.difference(s.cosine, s.cosine_2, s.unchanged) AS cosine_d,
               ragledger_audit.difference(s.bm25, s.bm25_2, s.unchanged) AS bm25_d,
               -- rows of an earlier version have none
               ragledger_audit.difference(s.coverage, s.coverage_2, s.unchanged AND s.coverage IS NOT NULL)
                   AS coverage_d,
               ragledger_audit.difference(s.vector_norm, s.vector_norm_2, true) AS vector_norm_d,
               ragledger_audit.difference(s.bm25_norm, s.bm25_norm_2, true) AS bm25_norm_d,
               ragledger_audit.difference(s.fused, s.fused_2, true) AS fused_d,
               ragledger_audit.difference(s.span_cosine, s.span_cosine_2, s.unchanged) AS span_cosine_d,
               ragledger_audit.difference(s.rerank_score, s.rerank_score_2, s.reranker IN ('spans', 'none'))
                   AS rerank_score_d,
               ragledger_audit.difference(s.score, s.score_2, true) AS score_d
        FROM stepped s
    )
    SELECT c.rank, c.final_rank, c.chunk_id, c.source, c.state, c.picked, c.cited,
           c.collapsed_into, c.resemblance, c.other_language, c.vector_rank, c.bm25_rank, c.fused_rank, c.ranks_agree,
           c.cosine, c.cosine_2, c.cosine_d, c.bm25, c.bm25_2, c.bm25_d,
           c.coverage, c.coverage_2, c.coverage_d, c.vector_norm, c.vector_norm_2, c.vector_norm_d, c.bm25_norm, c.bm25_norm_2, c.bm25_norm_d,
           c.fused, c.fused_2, c.fused_d, c.span_cosine, c.span_cosine_2, c.span_cosine_d,
           c.span_start_char, c.span_end_char, c.rerank_score, c.rerank_score_2, c.rerank_score_d, c.score, c.score_2, c.score_d,
           greatest(c.cosine_d, c.bm25_d, c.coverage_d, c.vector_norm_d, c.bm25_norm_d, c.fused_d, c.span_cosine_d,
                    c.rerank_score_d, c.score_d),
           c.unchanged
    FROM compared c
    ORDER BY c.rank
$$;

COMMENT ON FUNCTION ragledger_audit.explain(uuid) IS
    'Each candidate of a question: every score as stored, recomputed, and their difference. "state" says what became '
    'of the chunk since (as logged, disabled, changed, gone); what cannot be recomputed is NULL.';


CREATE OR REPLACE FUNCTION ragledger_audit.verdict(query_id uuid, tolerance float8 DEFAULT 1e-5)
RETURNS TABLE (score text, compared bigint, not_comparable bigint, largest_difference float8, verdict text)
LANGUAGE sql STABLE
AS $$
    WITH hit AS MATERIALIZED (
        SELECT * FROM ragledger_audit.explain(verdict.query_id)
    ), confidence AS (
        -- how sure BM25 may be: its best score over the highest that the question could reach
        SELECT p.confidence AS stored,
               CASE WHEN bound.value > 0 THEN least(1, best.bm25 / bound.value / p.confidence_c0) ELSE 0 END AS again
        FROM ragledger_audit.parameters(verdict.query_id) p
             CROSS JOIN (SELECT max(hit.bm25) AS bm25 FROM hit HAVING count(*) > 0) best
             CROSS JOIN LATERAL (
                 SELECT sum(t.count * t.idf) * (p.k1 + 1) AS value
                 FROM jsonb_to_recordset(p.lexical -> 'terms') AS t(count int, idf float8)) bound
    ), pair AS (
        SELECT p.* FROM hit CROSS JOIN LATERAL (VALUES
            (1, 'cosine', cosine, cosine_difference),
            (2, 'bm25', bm25, bm25_difference),
            (3, 'vector_norm', vector_norm, vector_norm_difference),
            (4, 'bm25_norm', bm25_norm, bm25_norm_difference),
            (6, 'fused', fused, fused_difference),
            (7, 'span_cosine', span_cosine, span_cosine_difference),
            (8, 'coverage', coverage, coverage_difference),
            (9, 'rerank_score', rerank_score, rerank_score_difference),
            (10, 'score', hit.score, score_difference),
            (11, 'ranks', rank, CASE WHEN ranks_agree THEN 0 ELSE 'Infinity'::float8 END)
        ) AS p(place, score, stored, difference)
        UNION ALL
        SELECT 5, 'confidence', c.stored, ragledger_audit.difference(c.stored, c.again, true) FROM confidence c
    )
    SELECT p.score, count(p.difference), count(*) FILTER (WHERE p.stored IS NOT NULL AND p.difference IS NULL),
           max(p.difference),
           CASE WHEN max(p.difference) > verdict.tolerance THEN 'DIFFERS'
                WHEN count(p.difference) > 0 THEN 'agrees'
                WHEN p.score = 'rerank_score' AND count(p.stored) > 0 THEN 'taken as stored'
                ELSE 'nothing to compare' END
    FROM pair p
    GROUP BY p.place, p.score
    HAVING p.score <> 'coverage' OR count(p.stored) > 0
    ORDER BY p.place
$$;

COMMENT ON FUNCTION ragledger_audit.verdict(uuid, float8) IS
    'Per score of a question: how many of its candidates could be recomputed, the largest difference, and whether '
    'that is within the tolerance.';
