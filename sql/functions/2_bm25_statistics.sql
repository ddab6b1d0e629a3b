-- The corpus-wide numbers of BM25, counted from the postings. Tombstones are masked before anything is counted, so
-- that the numbers are those of a fresh index.

CREATE OR REPLACE FUNCTION ragledger_audit.bm25_statistics(collection_id bigint, terms text[])
RETURNS TABLE (term text, count int, df bigint, idf float8, live_chunks bigint, mean_length float8)
LANGUAGE sql STABLE SET enable_nestloop = off
AS $$
    WITH live AS MATERIALIZED (
        SELECT l.segment_id, l.ordinal, l.length FROM ragledger_audit.live_chunks(bm25_statistics.collection_id) l
    ), total AS (
        SELECT count(*) AS chunks, coalesce(nullif(sum(live.length), 0)::float8 / count(*), 1) AS mean_length FROM live
    ), asked AS (
        SELECT a.term, count(*)::int AS count FROM unnest(bm25_statistics.terms) AS a(term) GROUP BY a.term
    ), posting AS MATERIALIZED (
        -- materialised: else the planner may join segments with chunks first and unnest once for each pair
        SELECT p.segment_id, p.term, o.ordinal
        FROM lexical_posting p CROSS JOIN LATERAL unnest(p.ordinals) AS o(ordinal)
        WHERE p.collection_id = bm25_statistics.collection_id AND p.term = ANY (bm25_statistics.terms)
    ), found AS (
        SELECT p.term, count(*) AS df
        FROM posting p JOIN live ON live.segment_id = p.segment_id AND live.ordinal = p.ordinal
        GROUP BY p.term
    ), counted AS (
        SELECT asked.term, asked.count, coalesce(found.df, 0) AS df FROM asked LEFT JOIN found USING (term)
    )
    SELECT c.term, c.count, c.df, ln(1 + (total.chunks - c.df + 0.5::float8) / (c.df + 0.5::float8)),
           total.chunks, total.mean_length
    FROM counted c CROSS JOIN total
$$;

COMMENT ON FUNCTION ragledger_audit.bm25_statistics(bigint, text[]) IS
    'Per distinct term: its count in the question, df and idf (nats), with the live chunks and their mean length.';


CREATE OR REPLACE FUNCTION ragledger_audit.bm25_lexical(collection_id bigint, terms text[], k1 float8 DEFAULT 1.5)
RETURNS jsonb
LANGUAGE sql STABLE
AS $$
    SELECT jsonb_build_object(
        'live_chunks', max(s.live_chunks),
        'mean_length', max(s.mean_length),
        'terms', coalesce(
            jsonb_agg(jsonb_build_object('term', s.term, 'count', s.count, 'df', s.df, 'idf', s.idf) ORDER BY s.term),
            '[]'),
        'bound', coalesce(sum(s.count * s.idf), 0) * (bm25_lexical.k1 + 1))
    FROM ragledger_audit.bm25_statistics(bm25_lexical.collection_id, bm25_lexical.terms) s
$$;

COMMENT ON FUNCTION ragledger_audit.bm25_lexical(bigint, text[], float8) IS
    'The statistics of a question as the ledger keeps them in query_log.lexical, counted now.';
