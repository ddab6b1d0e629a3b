-- What people ask that a collection does not answer: refused questions, similar ones together, most asked first.
--
--     psql $DATABASE_URL -f sql/audit/refusals.sql
--     psql $DATABASE_URL -v collection=handbook -v days=30 -v similar=0.85 -v shown=50 -f sql/audit/refusals.sql
--
-- Reads only. Looks at the latest 5,000 refusals of each collection within 90 days (-v days) and groups the 500 most
-- asked wordings. Two go together where the cosine of their vectors is at least 0.8 (-v similar): another wording of the
-- same question, or another one about it. What to do with what it shows:
--
-- - asked often, nearest documents far off (a low cosine): the collection lacks the subject. Write the document, or
--   answer with a curated pair: POST /qa-pairs.
-- - confidence near 0.5, and the nearest documents do answer: the text says it in other words than people ask. Put
--   their words into a heading, or make a curated pair. `ragledger search --explain` shows what stands in the way.
-- - The same document is nearest to many groups: it promises more than it holds.
--
-- Cost: 4 s at 100,000 questions, 6,667 of them refused, on two busy cores; bounded by the 5,000 and the 500 above.

\ir prepare.psql
\if :failed
    \quit
\endif
\if :{?days}
\else
    \set days 90
\endif
\if :{?similar}
\else
    \set similar 0.8
\endif

\echo
\echo REFUSALS of the last :days days
\echo
SELECT c.name AS collection, r.asked, r.refused, round(100.0 * r.refused / r.asked, 1) AS "% refused",
       to_char(r.last, 'YYYY-MM-DD HH24:MI') AS "last refused"
FROM collection c
     CROSS JOIN LATERAL (
         SELECT count(*) AS asked, count(*) FILTER (WHERE q.source = 'refusal') AS refused,
                max(q.at) FILTER (WHERE q.source = 'refusal') AS last
         FROM query_log q
         WHERE q.collection_id = c.id AND q.kind = 'ask' AND q.at > now() - make_interval(days => :'days'::int)) r
WHERE :'collection' IN ('', c.name) AND r.refused > 0
ORDER BY r.refused DESC, c.name;

\echo
\echo QUESTIONS that were refused, similar ones together
\echo '(confidence: the nearest that one of them came to being answered, 0.5 is enough; cosine: of the nearest chunk)'
\echo
WITH RECURSIVE refused AS MATERIALIZED (
    SELECT c.id AS collection_id, c.name AS collection, q.id, q.at, q.question, q.space_id, q.embedding,
           substring(q.reason FROM 'confidence ([0-9.]+)')::float8 AS confidence,
           lower(btrim(regexp_replace(q.question, '\s+', ' ', 'g'), ' ?!.,;:。，；、…~？！')) AS wording
    FROM collection c
         CROSS JOIN LATERAL (
             SELECT * FROM query_log l
             WHERE l.collection_id = c.id AND l.source = 'refusal'
               AND l.at > now() - make_interval(days => :'days'::int)
             ORDER BY l.at DESC LIMIT 5000) q
    WHERE :'collection' IN ('', c.name)
), wording AS (
    -- a refusal out of the cache kept no vector; an earlier one of the same wording did
    SELECT r.collection_id, r.collection, r.wording, count(*) AS asked, max(r.at) AS last,
           max(r.confidence) AS confidence, (array_agg(r.question ORDER BY r.at DESC))[1] AS question,
           (array_agg(r.id ORDER BY r.at DESC) FILTER (WHERE r.embedding IS NOT NULL))[1] AS id
    FROM refused r
    GROUP BY r.collection_id, r.collection, r.wording
), ordered AS (
    SELECT w.*, row_number() OVER (PARTITION BY w.collection_id ORDER BY w.asked DESC, w.last DESC, w.wording) AS n
    FROM wording w
), compared AS MATERIALIZED (
    SELECT o.*, r.space_id, r.embedding FROM ordered o LEFT JOIN refused r ON r.id = o.id WHERE o.n <= 500
), linked AS MATERIALIZED (
    SELECT b.collection_id, b.n, min(a.n) AS leader
    FROM compared b
         JOIN compared a ON a.collection_id = b.collection_id AND a.space_id = b.space_id AND a.n < b.n
                        AND 1 - (a.embedding <=> b.embedding) >= :'similar'::float8
    GROUP BY b.collection_id, b.n
), walk AS (
    SELECT m.collection_id, m.n, m.n AS leader FROM compared m
    UNION
    SELECT w.collection_id, w.n, l.leader
    FROM walk w JOIN linked l ON l.collection_id = w.collection_id AND l.n = w.leader
), grouped AS (
    SELECT m.collection_id, g.leader, sum(m.asked) AS asked, count(*) AS wordings, max(m.last) AS last,
           max(m.confidence) AS confidence
    FROM (SELECT w.collection_id, w.n, min(w.leader) AS leader FROM walk w GROUP BY w.collection_id, w.n) g
         JOIN compared m ON m.collection_id = g.collection_id AND m.n = g.n
    GROUP BY m.collection_id, g.leader
    ORDER BY sum(m.asked) DESC, max(m.last) DESC
    LIMIT :'shown'::int
)
SELECT g.asked, g.wordings, l.collection, l.question, to_char(g.last, 'YYYY-MM-DD') AS last,
       round(g.confidence::numeric, 2) AS confidence, round(near.cosine::numeric, 3) AS cosine,
       near.sources AS "nearest documents"
FROM grouped g
     JOIN compared l ON l.collection_id = g.collection_id AND l.n = g.leader
     LEFT JOIN LATERAL (
         SELECT max(h.cosine) AS cosine, string_agg(DISTINCT h.source, ', ') FILTER (WHERE h.place <= 3) AS sources
         FROM (SELECT q.cosine, q.source, row_number() OVER (ORDER BY q.rank) AS place FROM query_hit q
               WHERE q.collection_id = l.collection_id AND q.query_id = l.id AND q.picked) h) near ON true
ORDER BY g.asked DESC, g.last DESC;
