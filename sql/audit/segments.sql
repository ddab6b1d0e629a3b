-- The segments of the inverted index: how large they are, and what compaction would do with them next.
--
--     psql $DATABASE_URL -f sql/audit/segments.sql
--
-- One statement without psql commands, so that a program can run it too. Reads only; it counts all postings, which
-- takes seconds for a million chunks. What to do with what it shows:
--
-- - "keep" everywhere is how it should be: at most 7 segments of each tier and tokenizer, each at most a quarter dead.
-- - "merge" and "rewrite" are done by the service itself after the collection's next change, large ones in a thread of
--   the process. Where they stay, because only short commands write, or after many deletions: `ragledger compact --all`.
-- - "delete" are rests that a compaction left when it was cut off; the next one removes them. No search reads them.
-- - Many small segments before a time without changes: `ragledger compact --full` makes one of them.
-- - Two tokenizers: the words of the collection or the version changed. The older segments find less until they are
--   tokenised again.
-- - postings_size is what the postings take without their index. Many times what other segments take for each chunk
--   points at texts that are no prose: numbers, keys, base64.

WITH posting AS (
    SELECT p.collection_id, p.segment_id, count(*) AS terms,
           sum(pg_column_size(p.term) + pg_column_size(p.ordinals) + pg_column_size(p.frequencies)) AS bytes
    FROM lexical_posting p
    GROUP BY p.collection_id, p.segment_id
), segment AS (
    SELECT g.*,
           -- as in app/ingest/compact.py: below 64 chunks 0, one more for each eight times as many
           (SELECT count(*) FROM generate_series(2, 10) AS power WHERE g.chunk_count >= 8 ^ power) AS tier
    FROM lexical_segment g
), peers AS (
    SELECT s.*, count(*) OVER (PARTITION BY s.collection_id, s.tokenizer, s.tier, s.retired) AS of_tier FROM segment s
)
SELECT c.name AS collection, s.id AS segment, s.tier, s.chunk_count AS chunks, s.dead_count AS dead,
       round(100.0 * s.dead_count / greatest(s.chunk_count, 1), 1) AS dead_percent, s.tokenizer,
       coalesce(p.terms, 0) AS terms, pg_size_pretty(coalesce(p.bytes, 0)) AS postings_size,
       to_char(s.created_at, 'YYYY-MM-DD HH24:MI') AS created,
       CASE WHEN s.retired THEN 'delete'
            WHEN s.dead_count > 0.25 * s.chunk_count THEN 'rewrite'
            WHEN s.of_tier >= 8 THEN format('merge %s of tier %s', s.of_tier, s.tier)
            ELSE 'keep' END AS next
FROM peers s
     JOIN collection c ON c.id = s.collection_id
     LEFT JOIN posting p ON p.collection_id = s.collection_id AND p.segment_id = s.id
ORDER BY c.name, s.tier DESC, s.id;
