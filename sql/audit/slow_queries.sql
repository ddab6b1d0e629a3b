-- Where the time of questions goes: by step and day, and the slowest ones.
--
--     psql $DATABASE_URL -f sql/audit/slow_queries.sql
--     psql $DATABASE_URL -v collection=handbook -v days=30 -v shown=50 -f sql/audit/slow_queries.sql
--
-- Reads only. Looks at the last 7 days (-v days), of each collection at most its latest 100,000 questions. What to do
-- with what it shows, by the step that takes the time (milliseconds):
--
-- - understand: the embedder. Each process loads the model with its first question; else more EMBED_THREADS, or fewer
--   processes on the same cores.
-- - recall: vectors and postings. p99 far above p50: the index does not fit into memory (sizes.sql), or segments are
--   many (segments.sql, `ragledger compact`). A scan "exact" of a large collection: `ragledger index`.
-- - read: texts, spans, and with expand_tokens the documents around them: long documents take longer.
-- - rerank: a model or server; a smaller rerank_depth, or the reranker spans.
-- - quote: tokens of the best hits. total far above the sum of the steps: waiting for a connection (DATABASE_POOL_MAX).
--
-- Cost: 2 s at 12,000 questions of 100,000 within the days, on two busy cores; bounded by the 100,000.

\ir prepare.psql
\if :failed
    \quit
\endif
\if :{?days}
\else
    \set days 7
\endif

\echo
\echo STEPS of the last :days days, milliseconds
\echo
WITH asked AS MATERIALIZED (
    SELECT q.at, q.kind, q.source, q.timings
    FROM collection c
         CROSS JOIN LATERAL (SELECT l.at, l.kind, l.source, l.timings FROM query_log l
                             WHERE l.collection_id = c.id AND l.at > now() - make_interval(days => :'days'::int)
                             ORDER BY l.at DESC LIMIT 100000) q
    WHERE :'collection' IN ('', c.name)
)
SELECT to_char(a.at, 'YYYY-MM-DD') AS day, a.kind, t.key AS step, count(*) AS questions,
       round(percentile_cont(0.5) WITHIN GROUP (ORDER BY t.value::float8)::numeric, 1) AS p50,
       round(percentile_cont(0.95) WITHIN GROUP (ORDER BY t.value::float8)::numeric, 1) AS p95,
       round(percentile_cont(0.99) WITHIN GROUP (ORDER BY t.value::float8)::numeric, 1) AS p99,
       round(max(t.value::float8)::numeric, 1) AS slowest
FROM asked a CROSS JOIN LATERAL jsonb_each_text(a.timings) t
GROUP BY 1, 2, 3
ORDER BY 1 DESC, 2, t.key = 'total', avg(t.value::float8) DESC;

\echo
\echo THE SLOWEST QUESTIONS; sql/audit/explain.sql -v query=<id> explains one
\echo
WITH asked AS MATERIALIZED (
    SELECT c.name AS collection, q.*
    FROM collection c
         CROSS JOIN LATERAL (SELECT l.id, l.at, l.kind, l.question, l.vector_scan, l.timings, l.degraded
                             FROM query_log l
                             WHERE l.collection_id = c.id AND l.at > now() - make_interval(days => :'days'::int)
                             ORDER BY l.at DESC LIMIT 100000) q
    WHERE :'collection' IN ('', c.name)
)
SELECT round((a.timings ->> 'total')::numeric) AS total, a.kind, a.collection, a.vector_scan AS scan,
       (SELECT string_agg(format('%s %s', t.key, round(t.value::numeric)), ', ' ORDER BY t.value::numeric DESC)
        FROM jsonb_each_text(a.timings) t WHERE t.key <> 'total' AND t.value::numeric >= 1) AS steps,
       to_char(a.at, 'MM-DD HH24:MI') AS at, left(a.question, 30) AS question, a.id
FROM asked a
ORDER BY (a.timings ->> 'total')::float8 DESC NULLS LAST
LIMIT :'shown'::int;
