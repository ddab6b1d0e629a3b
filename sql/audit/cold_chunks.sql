-- Chunks that no question finds, or that are found and never returned.
--
--     psql $DATABASE_URL -f sql/audit/cold_chunks.sql
--     psql $DATABASE_URL -v collection=handbook -v queries=100000 -v shown=50 -f sql/audit/cold_chunks.sql
--
-- Reads only. Looks at the latest 20,000 questions of each collection (-v queries): found is a candidate of a question,
-- returned one of its hits. What to do with what it shows:
--
-- - COLD DOCUMENTS were never returned. If nobody needs them, disable them: they cost memory and candidates. If people
--   should find them, ask for one by `ragledger search --explain` in their words: a text that is found but ranks low
--   may lack a heading that names its subject; one that is not found at all may be a scan, a list, or in a language
--   that nobody asks in. "new" ones came after the first of those questions: give them time.
-- - OVERSHADOWED CHUNKS are found again and again, and something else is returned. Boilerplate is no loss. Where the
--   better answer is in such a chunk, the ones that win over it are duplicates (see duplicates.sql) or out of date.
-- - Chunks that a near duplicate or a neighbour's passage stands for count as returned.
--
-- Cost: 16 s at a million chunks and 100,000 questions of 60 candidates, on two busy cores; it grows with chunks and
-- -v queries.

\ir prepare.psql
\if :failed
    \quit
\endif
\if :{?queries}
\else
    \set queries 20000
\endif

-- all at once, since each part needs the same counts; kept as a variable, since a read replica has no temporary tables
WITH asked AS MATERIALIZED (
    SELECT c.id AS collection_id, q.id, q.at
    FROM collection c
         CROSS JOIN LATERAL (SELECT l.id, l.at FROM query_log l WHERE l.collection_id = c.id
                             ORDER BY l.at DESC LIMIT :'queries'::int) q
    WHERE :'collection' IN ('', c.name)
), used AS MATERIALIZED (
    SELECT h.collection_id, h.chunk_id, count(*) AS found,
           count(*) FILTER (WHERE h.picked OR h.collapsed_into IS NOT NULL) AS returned,
           count(*) FILTER (WHERE h.cited) AS cited, max(a.at) AS last_found
    FROM asked a JOIN query_hit h ON h.collection_id = a.collection_id AND h.query_id = a.id
    GROUP BY h.collection_id, h.chunk_id
), live AS MATERIALIZED (
    SELECT k.collection_id, k.document_id, k.id, u.found, u.returned, u.cited, u.last_found
    FROM collection c
         JOIN document d ON d.collection_id = c.id AND d.state = 'active'
         JOIN chunk k ON k.collection_id = d.collection_id AND k.document_id = d.id
         LEFT JOIN used u ON u.collection_id = k.collection_id AND u.chunk_id = k.id
    WHERE :'collection' IN ('', c.name)
), span AS (
    SELECT a.collection_id, count(*) AS questions, min(a.at) AS since FROM asked a GROUP BY a.collection_id
), summary AS (
    SELECT c.name, s.questions, s.since, count(*) AS chunks, count(*) FILTER (WHERE l.found IS NULL) AS never_found,
           count(*) FILTER (WHERE l.found > 0 AND l.returned = 0) AS never_returned,
           count(*) FILTER (WHERE l.returned > 0) AS returned, count(*) FILTER (WHERE l.cited > 0) AS cited
    FROM live l JOIN collection c ON c.id = l.collection_id JOIN span s ON s.collection_id = l.collection_id
    GROUP BY c.name, s.questions, s.since
), cold AS (
    SELECT l.collection_id, l.document_id, count(*) AS chunks, count(l.found) AS found, max(l.last_found) AS last_found
    FROM live l JOIN span s ON s.collection_id = l.collection_id
    GROUP BY l.collection_id, l.document_id
    HAVING coalesce(sum(l.returned), 0) = 0
    ORDER BY count(*) DESC, l.document_id
    LIMIT :'shown'::int
), overshadowed AS (
    SELECT l.collection_id, l.document_id, l.id, l.found, l.last_found
    FROM live l
    WHERE l.found > 1 AND l.returned = 0
    ORDER BY l.found DESC, l.id
    LIMIT :'shown'::int
)
SELECT coalesce((SELECT jsonb_agg(s) FROM summary s), '[]') AS summary,
       coalesce((SELECT jsonb_agg(d) FROM cold d), '[]') AS cold,
       coalesce((SELECT jsonb_agg(o) FROM overshadowed o), '[]') AS overshadowed \gset

\echo
\echo CHUNKS by what became of them
\echo
SELECT s.name AS collection, s.questions, to_char(s.since, 'YYYY-MM-DD') AS since, s.chunks,
       s.never_found AS "never found", s.never_returned AS "found, never returned", s.returned, s.cited
FROM jsonb_to_recordset(:'summary') AS s(
    name text, questions bigint, since timestamptz, chunks bigint, never_found bigint, never_returned bigint,
    returned bigint, cited bigint)
ORDER BY s.never_found DESC;

\echo
\echo COLD DOCUMENTS: none of their chunks was returned, largest first
\echo
SELECT c.name AS collection, d.id AS document, right(d.source, 40) AS source, f.chunks, f.found,
       coalesce(to_char(f.last_found, 'YYYY-MM-DD'), 'never') AS "last found",
       CASE WHEN d.created_at > (SELECT s.since FROM jsonb_to_recordset(:'summary') AS s(name text, since timestamptz)
                                 WHERE s.name = c.name) THEN 'new' ELSE '' END AS age
FROM jsonb_to_recordset(:'cold') AS f(
         collection_id bigint, document_id bigint, chunks bigint, found bigint, last_found timestamptz)
     JOIN collection c ON c.id = f.collection_id
     JOIN document d ON d.collection_id = f.collection_id AND d.id = f.document_id
ORDER BY f.chunks DESC, d.id;

\echo
\echo OVERSHADOWED CHUNKS: found most often, never returned
\echo
SELECT c.name AS collection, f.id AS chunk, right(d.source, 30) AS source, f.found,
       to_char(f.last_found, 'YYYY-MM-DD') AS "last found", regexp_replace(left(k.text, 50), '\s+', ' ', 'g') AS text
FROM jsonb_to_recordset(:'overshadowed') AS f(
         collection_id bigint, document_id bigint, id bigint, found bigint, last_found timestamptz)
     JOIN collection c ON c.id = f.collection_id
     JOIN document d ON d.collection_id = f.collection_id AND d.id = f.document_id
     JOIN chunk k ON k.collection_id = f.collection_id AND k.id = f.id
ORDER BY f.found DESC, f.id;
