-- How large each table and index is, in all and for each chunk (of the ledger: for each question).
--
--     psql $DATABASE_URL -f sql/audit/sizes.sql
--
-- One statement without psql commands, so that a program can run it too. Reads only. Run it on a collection of yours
-- with some thousand chunks: times the chunks you expect, it tells what a machine must hold. What to do with it:
--   embedding, its HNSW index and lexical_* are read by each search: they should fit into memory (effective_cache_size);
--     an HNSW index of half precision is half as large (HNSW_HALFVEC).
--   span and span_embedding are read by chunk id, 20 chunks a search: a fast disk is enough. Where that is too much,
--     collections can go without spans.
--   query_log and query_hit grow with every question: DELETE FROM query_log WHERE at < now() - interval '90 days'.
-- "whole" is a table with all its indexes and what it stores out of line; "rows" is that without both.

WITH
part AS (
    SELECT c.oid, c.relname::text AS name, regexp_replace(c.relname, '_s\d+$', '') AS of_table
    FROM pg_class c
    WHERE c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'chunk'::regclass) AND c.relkind = 'r'
),
piece AS (
    SELECT name, of_table, 1 AS place, 'whole' AS part, pg_total_relation_size(oid) AS bytes FROM part
    UNION ALL
    SELECT name, of_table, 2, 'rows', pg_relation_size(oid) FROM part
    UNION ALL
    SELECT name, of_table, 3, 'out of line', pg_total_relation_size(c.reltoastrelid)
    FROM part JOIN pg_class c USING (oid) WHERE c.reltoastrelid <> 0
    UNION ALL
    SELECT p.name, p.of_table, 4, 'index ' || i.indexrelid::regclass, pg_relation_size(i.indexrelid)
    FROM part p JOIN pg_index i ON i.indrelid = p.oid
),
share AS (
    SELECT *, CASE WHEN of_table IN ('query_log', 'query_hit') THEN (SELECT count(*) FROM query_log)
                   WHEN of_table IN ('document', 'chunk', 'embedding', 'span', 'span_embedding', 'lexical_segment',
                                     'lexical_posting', 'lexical_tombstone') THEN (SELECT count(*) FROM chunk) END AS n
    FROM piece
)
SELECT name AS "table", part, pg_size_pretty(bytes) AS size, round(bytes::numeric / nullif(n, 0)) AS "bytes for each",
       CASE WHEN of_table IN ('query_log', 'query_hit') THEN 'question' WHEN n IS NOT NULL THEN 'chunk' ELSE '' END AS "of"
FROM share
WHERE bytes > 0
ORDER BY sum(bytes) FILTER (WHERE place = 1) OVER (PARTITION BY name) DESC, name, place, bytes DESC, part;
