-- BM25 as Lucene computes it (Kamphuis et al., ECIR 2020), from the arrays that the service itself reads:
--
--     count * idf * (k1 + 1) * tf / (tf + k1 * (1 - b + b * length / mean_length))      summed over the terms
--
-- "count" is how often the question holds the term. "lexical" is query_log.lexical, or ragledger_audit.bm25_lexical() for
-- the statistics of this moment.

CREATE OR REPLACE FUNCTION ragledger_audit.bm25_terms(
    collection_id bigint, lexical jsonb, k1 float8 DEFAULT 1.5, b float8 DEFAULT 0.75, chunk_ids bigint[] DEFAULT NULL)
RETURNS TABLE (chunk_id bigint, term text, tf int, length int, idf float8, score float8)
LANGUAGE sql STABLE SET enable_nestloop = off
AS $$
    WITH place AS MATERIALIZED (
        SELECT l.segment_id, l.ordinal, l.chunk_id, l.length
        FROM ragledger_audit.live_chunks(bm25_terms.collection_id) l
        WHERE bm25_terms.chunk_ids IS NULL
        UNION ALL
        SELECT i.segment_id, i.ordinal, i.chunk_id, i.length
        FROM ragledger_audit.indexed_chunks(bm25_terms.collection_id, bm25_terms.chunk_ids) i
        WHERE bm25_terms.chunk_ids IS NOT NULL
    ), asked AS MATERIALIZED (
        SELECT a.term, a.count, a.idf
        FROM jsonb_to_recordset(bm25_terms.lexical -> 'terms') AS a(term text, count int, idf float8)
    ), posting AS MATERIALIZED (
        -- materialised: else the planner may join segments with chunks first and unnest once for each pair
        SELECT p.segment_id, p.term, o.ordinal, o.tf::float8 AS tf
        FROM lexical_posting p CROSS JOIN LATERAL unnest(p.ordinals, p.frequencies) AS o(ordinal, tf)
        WHERE p.collection_id = bm25_terms.collection_id AND p.term = ANY (ARRAY(SELECT asked.term FROM asked))
    )
    SELECT place.chunk_id, posting.term, posting.tf::int, place.length, asked.idf,
           asked.count * asked.idf * (k1 + 1) * posting.tf
               / (posting.tf + k1 * (1 - b + b * place.length / (bm25_terms.lexical ->> 'mean_length')::float8))
    FROM posting
         JOIN place ON place.segment_id = posting.segment_id AND place.ordinal = posting.ordinal
         JOIN asked ON asked.term = posting.term
$$;

COMMENT ON FUNCTION ragledger_audit.bm25_terms(bigint, jsonb, float8, float8, bigint[]) IS
    'What each term adds to the BM25 of each live chunk, or of the given chunks even under a tombstone.';


CREATE OR REPLACE FUNCTION ragledger_audit.bm25_with(
    collection_id bigint, lexical jsonb, k1 float8 DEFAULT 1.5, b float8 DEFAULT 0.75)
RETURNS TABLE (chunk_id bigint, score float8)
LANGUAGE sql STABLE
AS $$
    SELECT t.chunk_id, sum(t.score)
    FROM ragledger_audit.bm25_terms(bm25_with.collection_id, bm25_with.lexical, bm25_with.k1, bm25_with.b) t
    GROUP BY t.chunk_id
$$;

COMMENT ON FUNCTION ragledger_audit.bm25_with(bigint, jsonb, float8, float8) IS
    'BM25 of every live chunk that holds a term, with statistics kept in query_log.lexical: old questions recomputed.';


CREATE OR REPLACE FUNCTION ragledger_audit.bm25(
    collection_id bigint, terms text[], k1 float8 DEFAULT 1.5, b float8 DEFAULT 0.75)
RETURNS TABLE (chunk_id bigint, score float8)
LANGUAGE sql STABLE
AS $$
    SELECT s.chunk_id, s.score
    FROM ragledger_audit.bm25_with(
        bm25.collection_id, ragledger_audit.bm25_lexical(bm25.collection_id, bm25.terms, bm25.k1), bm25.k1, bm25.b) s
$$;

COMMENT ON FUNCTION ragledger_audit.bm25(bigint, text[], float8, float8) IS
    'BM25 of every live chunk that holds one of the terms (repeated terms count), recomputed from the postings.';
