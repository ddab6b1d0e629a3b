-- How the scores of candidates lie, those that were returned beside those that were not.
--
--     psql $DATABASE_URL -f sql/audit/score_distribution.sql
--     psql $DATABASE_URL -v collection=handbook -v queries=20000 -f sql/audit/score_distribution.sql
--
-- Reads only. Looks at the latest 2,000 questions of each collection (-v queries). Each line is a range of one score in
-- one collection: how many candidates lie in it, how many of them were returned, and both as bars of that score's
-- largest line (= returned, . not). What to do with what it shows:
--
-- - cosine: where "returned" and "not" lie in the same ranges, vectors do not tell the candidates apart: another model,
--   or smaller chunks. A model's cosines have a range of their own; compare collections, not models.
-- - bm25 is shown as the share of what the question could reach. Nearly all below 0.1: people use other words than the
--   documents; synonyms and user words help (`ragledger lexicon`).
-- - fused and score (by rrf all fused scores are below 0.05): a rerank that changes nothing leaves both alike; then it
--   only costs time.
-- - lexical confidence (by question): mostly under 1 means that BM25 counts for less than its weight, as it should
--   where questions and documents are of two languages.
-- - answer confidence (by question, answers and refusals): a peak around 0.5 means that refusing is a matter of chance.
--   Look at refusals.sql, and measure on questions of your own: `ragledger eval --dataset`.
--
-- Cost: 4 s for 2,000 questions of 60 candidates in the ledger of 100,000, on two busy cores; it grows with -v queries.

\ir prepare.psql
\if :failed
    \quit
\endif
\if :{?queries}
\else
    \set queries 2000
\endif

\echo
\echo SCORES of the latest :queries questions
\echo
WITH asked AS MATERIALIZED (
    SELECT c.id AS collection_id, c.name AS collection, q.id, q.confidence, q.kind, q.source, q.reason,
           nullif((q.lexical ->> 'bound')::float8, 0) AS bound
    FROM collection c
         CROSS JOIN LATERAL (SELECT * FROM query_log l WHERE l.collection_id = c.id
                             ORDER BY l.at DESC LIMIT :'queries'::int) q
    WHERE :'collection' IN ('', c.name)
), value AS (
    SELECT a.collection, s.place, s.score, s.value, h.picked
    FROM asked a
         JOIN query_hit h ON h.collection_id = a.collection_id AND h.query_id = a.id
         CROSS JOIN LATERAL (VALUES
             (1, 'cosine', h.cosine), (2, 'bm25 / bound', h.bm25 / a.bound), (3, 'fused', h.fused),
             (4, 'score', h.score)) AS s(place, score, value)
    UNION ALL
    SELECT a.collection, 5, 'lexical confidence', a.confidence, true FROM asked a
    UNION ALL
    SELECT a.collection, 6, 'answer confidence', substring(a.reason FROM 'confidence ([0-9.]+)')::float8,
           a.source <> 'refusal'
    FROM asked a
    WHERE a.kind = 'ask'
), range AS (
    -- scores are shares or sums of weighted shares; twentieths of 1 fit all of them
    SELECT v.collection, v.place, v.score, floor(v.value * 20) / 20 AS low, count(*) AS n,
           count(*) FILTER (WHERE v.picked) AS returned
    FROM value v
    WHERE v.value IS NOT NULL
    GROUP BY v.collection, v.place, v.score, floor(v.value * 20)
)
SELECT r.collection, r.score, to_char(r.low, 'S0.00') AS "from", r.n AS candidates, r.returned,
       repeat('=', ceil(40.0 * r.returned / m.n)::int)
           || repeat('.', ceil(40.0 * r.n / m.n)::int - ceil(40.0 * r.returned / m.n)::int) AS bars
FROM range r
     CROSS JOIN LATERAL (
         SELECT max(o.n) AS n FROM range o WHERE o.collection = r.collection AND o.score = r.score) m
ORDER BY r.collection, r.place, r.low;
