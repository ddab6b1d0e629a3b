-- Explain one question: what was asked and answered, what each step made of every candidate, what was collapsed and
-- why, which terms made the BM25, and the same scores recomputed.
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
                        || CASE WHEN s.id <> c.space_id THEN '; the collection has another model since' ELSE '' END
                 FROM embedding_space s WHERE s.id = q.space_id), 'none: ranked without vectors') AS vectors,
       q.vector_scan AS "vector scan",
       (SELECT string_agg(p.key || '=' || p.value, ' ' ORDER BY p.key) FROM jsonb_each_text(q.parameters) p)
           AS parameters,
       coalesce(nullif(q.tokenizer, ''), 'not recorded') AS tokenizer, array_to_string(q.tokens, ' ') AS tokens,
       format('%s live chunks, %s tokens each on average', q.lexical ->> 'live_chunks',
              round((q.lexical ->> 'mean_length')::numeric, 1)) AS statistics,
       format('%s: the best BM25 %s of the %s that the question could reach, over c0 %s',
              round(q.confidence::numeric, 4),
              (SELECT round(max(h.bm25)::numeric, 3) FROM query_hit h
               WHERE h.collection_id = q.collection_id AND h.query_id = q.id),
              round((q.lexical ->> 'bound')::numeric, 3), q.parameters ->> 'confidence_c0') AS "lexical confidence",
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
\echo PATHS
\echo '(a path''s part of the fused score is weight * what its method makes of the score between these bounds)'
\echo
SELECT path, method, round(weight::numeric, 4) AS weight, known AS candidates, listed AS "on its list",
       round(low::numeric, 4) AS lowest, round(high::numeric, 4) AS highest, round(mean::numeric, 4) AS mean,
       round(deviation::numeric, 4) AS deviation
FROM ragledger_audit.paths(:'query');

\echo
\echo CANDIDATES :shown of :candidates
\echo '(#: final place; v#, b#, f#, r#: rank by vector, by BM25, fused, reranked; v, b: the two scores normalised,'
\echo ' lang: the chunk is in another language than the question, by minmax_confidence its b is its v at least)'
\echo
SELECT final_rank AS "#", CASE WHEN cited THEN 'cited' WHEN picked THEN 'hit' WHEN collapsed_into IS NOT NULL THEN 'in'
       ELSE '' END AS used, chunk_id AS chunk,
       CASE WHEN length(source) > 16 THEN '…' || right(source, 15) ELSE source END AS source,
       vector_rank AS "v#", bm25_rank AS "b#", fused_rank AS "f#", rank AS "r#",
       CASE WHEN other_language THEN 'other' ELSE '' END AS lang,
       round(cosine::numeric, 3) AS cosine, round(bm25::numeric, 3) AS bm25,
       round(vector_norm::numeric, 3) AS v, round(bm25_norm::numeric, 3) AS b, round(fused::numeric, 4) AS fused,
       round(rerank_score::numeric, 3) AS rerank, round(score::numeric, 4) AS score, state
FROM ragledger_audit.explain(:'query')
WHERE rank <= :'hits'::int
ORDER BY rank;

\echo
\echo BEST SPANS of the first hits
\echo '(characters of the chunk''s text; coverage: the share of the question''s terms that the whole chunk holds)'
\echo
SELECT h.place AS "#", h.chunk_id AS chunk, format('%s-%s', s.start_char, s.end_char) AS characters,
       round(s.cosine::numeric, 4) AS cosine, round(h.coverage::numeric, 3) AS coverage,
       regexp_replace(left(substring(k.text, s.start_char + 1, s.end_char - s.start_char), 60), '\s+', ' ', 'g') AS text
FROM query_log q
     CROSS JOIN LATERAL (
         SELECT row_number() OVER (ORDER BY p.rank) AS place, p.chunk_id, p.coverage
         FROM query_hit p
         WHERE p.collection_id = q.collection_id AND p.query_id = q.id AND p.picked AND p.span_cosine IS NOT NULL
         ORDER BY p.rank LIMIT :'hits'::int) h
     CROSS JOIN LATERAL ragledger_audit.best_spans(q.space_id, q.collection_id, q.embedding, ARRAY[h.chunk_id]) s
     JOIN chunk k ON k.collection_id = q.collection_id AND k.id = h.chunk_id
WHERE q.id = :'query'
ORDER BY h.place;

SELECT count(*) > 0 AS has_collapsed
FROM query_log q JOIN query_hit h ON h.collection_id = q.collection_id AND h.query_id = q.id
WHERE q.id = :'query' AND h.collapsed_into IS NOT NULL \gset
\if :has_collapsed
    \echo
    \echo COLLAPSED
    \echo '(candidates that were not returned by themselves, and the chunk whose hit stands for them)'
    \echo
    SELECT h.rank AS "r#", h.chunk_id AS chunk, h.source, h.collapsed_into AS "stands in",
           CASE WHEN h.resemblance IS NULL THEN 'part of its passage'
                WHEN h.resemblance = 1 THEN 'the same words' ELSE 'a near duplicate' END AS why,
           round(h.resemblance::numeric, 3) AS resemblance
    FROM query_log q JOIN query_hit h ON h.collection_id = q.collection_id AND h.query_id = q.id
    WHERE q.id = :'query' AND h.collapsed_into IS NOT NULL
    ORDER BY h.rank
    LIMIT :'hits'::int;
\endif

\echo
\echo BM25 BY TERM, as of the question
\echo
SELECT t.rank AS "r#", t.chunk_id AS chunk, max(t.length) AS tokens,
       string_agg(format('%s %s (%s of %s)', round(t.score::numeric, 3), t.term, t.tf, t.df), ', '
                  ORDER BY t.score DESC, t.term) AS "score term (occurrences here, chunks that hold it)"
FROM ragledger_audit.terms(:'query', 3) t
GROUP BY t.rank, t.chunk_id
ORDER BY t.rank;

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
       max(v.not_comparable) FILTER (WHERE v.verdict <> 'taken as stored') AS lost,
       coalesce(max(v.not_comparable) FILTER (WHERE v.verdict <> 'taken as stored'), 0) > 0 AS has_lost,
       EXISTS (SELECT FROM query_log q JOIN collection c ON c.id = q.collection_id
               WHERE q.id = :'query' AND q.space_id <> c.space_id) AS has_other_model,
       string_agg(v.score, ', ') FILTER (WHERE v.verdict = 'taken as stored') AS stored,
       bool_or(v.verdict = 'taken as stored') AS has_stored
FROM jsonb_to_recordset(:'verdict') AS v(score text, not_comparable bigint, verdict text) \gset
\echo
\echo :conclusion, :statistics
\if :has_stored
    \echo Taken as stored, since SQL has neither tokenizer nor model: :stored
\endif
\if :has_other_model
    \echo The collection has another model since: cosines of its old vectors cannot be recomputed once those are removed.
\endif
\if :has_lost
    \echo :lost of the candidates could not be recomputed: a chunk, its vector or its postings are no longer there.
\endif
