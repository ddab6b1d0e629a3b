-- Texts that stand more than once: whole documents, chunks, and what is nearly the same.
--
--     psql $DATABASE_URL -f sql/audit/duplicates.sql
--     psql $DATABASE_URL -v collection=handbook -v chunks=100000 -v near=0.97 -f sql/audit/duplicates.sql
--
-- Reads only. What to do with what it shows:
--
-- - DOCUMENTS of equal content under several sources: delete all but one. Searches show them once, but each costs its
--   vectors and postings, and every copy counts in BM25's df: the words of a text that stands ten times look common.
-- - EQUAL CHUNKS in many documents are boilerplate: headers, footers, legal notes. Take them out before ingesting.
-- - COLLAPSED IN SEARCHES (the latest 2,000 questions, -v queries): duplicates that people really met. One that stands
--   for others of lower resemblance may be the wrong edition: disable the outdated one.
-- - NEAR VECTORS, among the newest 20,000 chunks of each collection (-v chunks): cosine at least 0.98 (-v near) and not
--   equal. Editions of one text, forms that differ by a name, generated pages. Found by comparing those whose vectors
--   agree in the signs of 24 of their dimensions, four times over: most pairs, not all.
--
-- Cost: 16 s at a million chunks, on two busy cores, most of it for counting equal texts.

\ir prepare.psql
\if :failed
    \quit
\endif
\if :{?chunks}
\else
    \set chunks 20000
\endif
\if :{?near}
\else
    \set near 0.98
\endif
\if :{?queries}
\else
    \set queries 2000
\endif

\echo
\echo DOCUMENTS of equal content
\echo
SELECT c.name AS collection, count(*) AS copies, max(d.characters) AS characters,
       string_agg(d.source || CASE WHEN d.state = 'disabled' THEN ' (disabled)' ELSE '' END, ', ' ORDER BY d.id)
           FILTER (WHERE d.place <= 5) AS "sources (the first five)"
FROM (SELECT e.*, row_number() OVER (PARTITION BY e.collection_id, e.content_sha256 ORDER BY e.id) AS place
      FROM document e) d
     JOIN collection c ON c.id = d.collection_id
WHERE :'collection' IN ('', c.name)
GROUP BY c.name, d.content_sha256
HAVING count(*) > 1
ORDER BY (count(*) - 1) * max(d.characters) DESC
LIMIT :'shown'::int;

\echo
\echo EQUAL CHUNKS
\echo
SELECT c.name AS collection, g.copies, g.documents, length(k.text) AS characters, g.first AS "first chunk",
       regexp_replace(left(k.text, 60), '\s+', ' ', 'g') AS text
FROM (SELECT e.collection_id, e.text_sha256, count(*) AS copies, count(DISTINCT e.document_id) AS documents,
             min(e.id) AS first
      FROM chunk e
      WHERE :'collection' = '' OR e.collection_id = (SELECT n.id FROM collection n WHERE n.name = :'collection')
      GROUP BY e.collection_id, e.text_sha256
      HAVING count(*) > 1
      ORDER BY count(*) DESC, min(e.id)
      LIMIT :'shown'::int) g
     JOIN collection c ON c.id = g.collection_id
     JOIN chunk k ON k.collection_id = g.collection_id AND k.id = g.first
ORDER BY g.copies DESC, g.first;

\echo
\echo COLLAPSED IN SEARCHES
\echo
WITH asked AS MATERIALIZED (
    SELECT c.id AS collection_id, c.name AS collection, q.id
    FROM collection c
         CROSS JOIN LATERAL (SELECT l.id FROM query_log l WHERE l.collection_id = c.id
                             ORDER BY l.at DESC LIMIT :'queries'::int) q
    WHERE :'collection' IN ('', c.name)
)
SELECT a.collection, count(*) AS searches, h.collapsed_into AS shown, s.source AS "shown in", h.chunk_id AS hidden,
       h.source AS "hidden in", round(min(h.resemblance)::numeric, 3) AS resemblance
FROM asked a
     JOIN query_hit h ON h.collection_id = a.collection_id AND h.query_id = a.id AND h.resemblance IS NOT NULL
     JOIN query_hit s ON s.collection_id = h.collection_id AND s.query_id = h.query_id AND s.chunk_id = h.collapsed_into
GROUP BY a.collection, h.collapsed_into, s.source, h.chunk_id, h.source
ORDER BY count(*) DESC, h.collapsed_into, h.chunk_id
LIMIT :'shown'::int;

\echo
\echo NEAR VECTORS
\echo
WITH newest AS MATERIALIZED (
    SELECT c.id AS collection_id, c.name AS collection, k.id, k.text_sha256, e.embedding,
           binary_quantize(e.embedding)::text AS signs
    FROM collection c
         CROSS JOIN LATERAL (SELECT t.id, t.text_sha256 FROM chunk t WHERE t.collection_id = c.id
                             ORDER BY t.id DESC LIMIT :'chunks'::int) k
         JOIN embedding e ON e.space_id = c.space_id AND e.collection_id = c.id AND e.chunk_id = k.id
    WHERE :'collection' IN ('', c.name)
), banded AS (
    SELECT n.collection_id, n.id, b.band, substring(n.signs, 24 * b.band + 1, 24) AS signs
    FROM newest n CROSS JOIN generate_series(0, 3) AS b(band)
), near AS (
    -- a bucket that holds very many is cut: its first 200 tell enough
    SELECT DISTINCT a.collection_id, a.id AS one, b.id AS other
    FROM (SELECT x.*, row_number() OVER (PARTITION BY x.collection_id, x.band, x.signs ORDER BY x.id) AS place
          FROM banded x) a
         JOIN banded b ON b.collection_id = a.collection_id AND b.band = a.band AND b.signs = a.signs AND b.id > a.id
    WHERE a.place <= 200
)
SELECT a.collection, round((1 - (a.embedding <=> b.embedding))::numeric, 4) AS cosine, p.one, x.source AS "one in",
       p.other, y.source AS "the other in", regexp_replace(left(m.text, 40), '\s+', ' ', 'g') AS text
FROM near p
     JOIN newest a ON a.collection_id = p.collection_id AND a.id = p.one
     JOIN newest b ON b.collection_id = p.collection_id AND b.id = p.other
     JOIN chunk m ON m.collection_id = p.collection_id AND m.id = p.one
     JOIN chunk n ON n.collection_id = p.collection_id AND n.id = p.other
     JOIN document x ON x.collection_id = m.collection_id AND x.id = m.document_id
     JOIN document y ON y.collection_id = n.collection_id AND y.id = n.document_id
WHERE a.text_sha256 <> b.text_sha256 AND 1 - (a.embedding <=> b.embedding) >= :'near'::float8
ORDER BY cosine DESC, p.one, p.other
LIMIT :'shown'::int;
