-- Explain one question: what was asked and answered, every candidate with its scores, and the same scores recomputed.
--
--     psql $DATABASE_URL -v query=<id> -f sql/audit/explain.sql
--
-- Without -v query it explains the latest question; -v hits=200 shows more candidates than the first 20.
-- Reads only. For a program: ragledger_audit.explain(id) and ragledger_audit.verdict(id) return the same as rows.

\set QUIET on
\set ON_ERROR_STOP on
\pset pager off
\pset format wrapped
\pset columns 120
\pset border 0
\pset footer off
\pset null '-'
SET client_min_messages = warning;

\if :{?hits}
\else
    \set hits 20
\endif

SELECT to_regprocedure('ragledger_audit.verdict(uuid, float8)') IS NULL AS has_no_tables \gset
\if :has_no_tables
    \warn 'This database has no tables of ragledger, or those of an older version: run `ragledger migrate`.'
    \quit
\endif

\if :{?query}
\else
    SELECT coalesce((SELECT id::text FROM query_log ORDER BY at DESC LIMIT 1), '') AS query \gset
    SELECT :'query' = '' AS is_empty \gset
    \if :is_empty
        \warn 'No question has been asked of this database yet.'
        \quit
    \endif
\endif

-- compared as text, so that whatever was given is only ever a wrong id and not a syntax error
SELECT :'query' !~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' AS is_malformed \gset
\if :is_malformed
    \warn 'Not the id of a question:' :query
    \warn 'An id looks like 1b4e28ba-2fa1-41d2-883f-0016d3cca427; searches and answers return it as query_id.'
    \quit
\endif
SELECT NOT EXISTS (SELECT FROM query_log WHERE id = :'query') AS is_unknown \gset
\if :is_unknown
    \warn 'No question has the id' :query
    \warn 'The latest ones: SELECT at, id, question FROM query_log ORDER BY at DESC LIMIT 10;'
    \quit
\endif

\echo
\echo QUESTION
\echo
\pset expanded on
SELECT q.question, q.id, q.kind, to_char(q.at, 'YYYY-MM-DD HH24:MI:SS TZ') AS "when", c.name AS collection,
       CASE WHEN q.revision = c.revision THEN format('%s, still the collection''s', q.revision)
            ELSE format('%s then, %s now', q.revision, c.revision) END AS revision,
       coalesce((SELECT format('%s %s, %s dimensions (space %s)', s.backend, s.model, s.dim, s.id)
                 FROM embedding_space s WHERE s.id = q.space_id), 'none: ranked without vectors') AS vectors,
       (SELECT string_agg(p.key || '=' || p.value, ' ' ORDER BY p.key) FROM jsonb_each_text(q.parameters) p)
           AS parameters,
       array_to_string(q.tokens, ' ') AS tokens,
       format('%s live chunks, %s tokens each on average', q.lexical ->> 'live_chunks',
              round((q.lexical ->> 'mean_length')::numeric, 1)) AS statistics,
       round(q.confidence::numeric, 4) AS "lexical confidence",
       coalesce(nullif(array_to_string(q.degraded, ', '), ''), 'no') AS degraded,
       (SELECT string_agg(format('%s %s', t.key, round(t.value::numeric, 1)), ', ' ORDER BY t.value::numeric)
        FROM jsonb_each_text(q.timings) t) AS "timings, ms",
       q.source, q.reason, q.answer
FROM query_log q JOIN collection c ON c.id = q.collection_id
WHERE q.id = :'query';
\pset expanded off

SELECT jsonb_array_length(q.citations) > 0 AS has_citations,
       EXISTS (SELECT FROM query_hit h WHERE h.collection_id = q.collection_id AND h.query_id = q.id) AS has_hits
FROM query_log q WHERE q.id = :'query' \gset

\if :has_citations
    \echo
    \echo CITATIONS
    \echo
    SELECT format('[%s]', c.number) AS "#", c.chunk_id AS chunk, format('%s %s-%s', c.source, c.start_char, c.end_char)
               AS place, round(c.score::numeric, 3) AS support, c.quote
    FROM query_log q
         CROSS JOIN LATERAL jsonb_to_recordset(q.citations) AS c(
             number int, chunk_id bigint, source text, start_char int, end_char int, score float8, quote text)
    WHERE q.id = :'query'
    ORDER BY c.number;
\endif

\if :has_hits
\else
    \echo
    \echo 'No candidates were ranked for this question (see source and reason), so there is nothing to recompute.'
    \quit
\endif

SELECT count(*) AS candidates, least(count(*), :'hits'::int) AS shown
FROM query_log q JOIN query_hit h ON h.collection_id = q.collection_id AND h.query_id = q.id
WHERE q.id = :'query' \gset
\echo
\echo CANDIDATES :shown of :candidates
\echo '(v#, b#, f#: rank by vector, by BM25, fused; v, b: the two scores normalised; span: best span cosine)'
\echo
SELECT rank AS "#", CASE WHEN cited THEN 'cited' WHEN picked THEN 'hit' ELSE '' END AS used, chunk_id AS chunk,
       CASE WHEN length(source) > 22 THEN '…' || right(source, 21) ELSE source END AS source,
       vector_rank AS "v#", bm25_rank AS "b#", fused_rank AS "f#",
       round(cosine::numeric, 4) AS cosine, round(bm25::numeric, 3) AS bm25,
       round(vector_norm::numeric, 3) AS v, round(bm25_norm::numeric, 3) AS b, round(fused::numeric, 4) AS fused,
       round(span_cosine::numeric, 4) AS span, round(score::numeric, 4) AS score, state
FROM ragledger_audit.explain(:'query')
WHERE rank <= :'hits'::int
ORDER BY rank;

\echo
\echo BM25 BY TERM, as of the question
\echo
SELECT h.rank AS "#", t.chunk_id AS chunk, max(t.length) AS tokens,
       string_agg(format('%s %s (%s of %s)', round(t.score::numeric, 3), t.term, t.tf, s.df), ', '
                  ORDER BY t.score DESC, t.term) AS "score term (occurrences here, chunks that hold it)"
FROM query_log q
     CROSS JOIN LATERAL ragledger_audit.bm25_terms(
         q.collection_id, q.lexical, (q.parameters ->> 'k1')::float8, (q.parameters ->> 'b')::float8,
         ARRAY(SELECT b.chunk_id FROM query_hit b
               WHERE b.collection_id = q.collection_id AND b.query_id = q.id AND b.rank <= 3)) t
     JOIN query_hit h ON h.collection_id = q.collection_id AND h.query_id = q.id AND h.chunk_id = t.chunk_id
     JOIN jsonb_to_recordset(q.lexical -> 'terms') AS s(term text, df bigint) ON s.term = t.term
WHERE q.id = :'query'
GROUP BY h.rank, t.chunk_id
ORDER BY h.rank;

\echo
\echo RECOMPUTED IN SQL
\echo
-- kept as a variable, not as a temporary table: a read replica has none
SELECT jsonb_agg(v) AS verdict FROM ragledger_audit.verdict(:'query') v \gset
SELECT v.score, v.compared, v.not_comparable AS "not comparable",
       CASE WHEN v.largest_difference = 'Infinity' THEN 'known on one side only'
            ELSE to_char(v.largest_difference, '0.9EEEE') END AS "largest difference", v.verdict
FROM jsonb_to_recordset(:'verdict') AS v(
    score text, compared bigint, not_comparable bigint, largest_difference float8, verdict text);

SELECT CASE WHEN bool_or(v.verdict = 'DIFFERS')
            THEN 'DIFFERS: ' || string_agg(v.score, ', ') FILTER (WHERE v.verdict = 'DIFFERS')
            ELSE 'The recomputed scores agree to 1e-5' END AS conclusion,
       (SELECT CASE WHEN q.revision = c.revision THEN 'with the statistics counted now.'
                    ELSE 'with the statistics kept at the question: the collection has changed since.' END
        FROM query_log q JOIN collection c ON c.id = q.collection_id WHERE q.id = :'query') AS statistics,
       max(v.not_comparable) AS lost, max(v.not_comparable) > 0 AS has_lost
FROM jsonb_to_recordset(:'verdict') AS v(score text, not_comparable bigint, verdict text) \gset
\echo
\echo :conclusion, :statistics
\if :has_lost
    \echo :lost of the candidates could not be recomputed: a chunk, its vector or its postings are no longer there.
\endif
