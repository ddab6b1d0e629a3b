-- name: insert
INSERT INTO lexicon_entry (collection_id, kind, term)
SELECT %(collection_id)s::bigint, %(kind)s, term FROM unnest(%(terms)s::text[]) AS term
ON CONFLICT (collection_id, kind, term) DO NOTHING
RETURNING id, term;

-- name: delete
-- Of one collection, or with NULL of all: never of both.
DELETE FROM lexicon_entry
WHERE collection_id IS NOT DISTINCT FROM %(collection_id)s::bigint AND kind = %(kind)s AND term = ANY(%(terms)s)
RETURNING term;

-- name: count
SELECT count(*) FROM lexicon_entry
WHERE collection_id IS NOT DISTINCT FROM %(collection_id)s::bigint AND kind = %(kind)s;

-- name: list
SELECT e.id, e.kind, e.term, c.name
FROM lexicon_entry e LEFT JOIN collection c ON c.id = e.collection_id
WHERE e.kind IN ('user_word', 'stopword') AND e.id > %(after)s
  AND (%(collection_id)s::bigint IS NULL OR e.collection_id = %(collection_id)s OR e.collection_id IS NULL)
ORDER BY e.id LIMIT %(limit)s;

-- name: wanted
-- The words that a collection should be tokenised with: its own, and those of all. With NULL only those of all.
SELECT w.user_words, w.stop_words, encode(sha256(convert_to(w.user_words::text || w.stop_words::text, 'UTF8')), 'hex')
FROM (SELECT coalesce(array_agg(DISTINCT term COLLATE "C") FILTER (WHERE kind = 'user_word'), ARRAY[]::text[]) AS user_words,
             coalesce(array_agg(DISTINCT term COLLATE "C") FILTER (WHERE kind = 'stopword'), ARRAY[]::text[]) AS stop_words
      FROM lexicon_entry
      WHERE kind IN ('user_word', 'stopword')
        AND (collection_id = %(collection_id)s OR collection_id IS NULL)) w;

-- name: words
SELECT user_words, stop_words FROM word_list WHERE sha256 = %(sha256)s;

-- name: keep
-- Kept for ever: the ledger names them.
INSERT INTO word_list (sha256, user_words, stop_words) VALUES (%(sha256)s, %(user_words)s, %(stop_words)s)
ON CONFLICT (sha256) DO NOTHING;

-- name: in_effect
SELECT word_list FROM collection WHERE id = %(collection_id)s;

-- name: put_in_effect
-- With the segments that were made with them, in one transaction.
UPDATE collection SET word_list = %(sha256)s WHERE id = %(collection_id)s;

-- name: await_compaction
-- Whatever writes the index anew goes one after the other; until the transaction ends. The key is compaction's.
SELECT pg_advisory_xact_lock(hashtextextended('ragledger.compaction', %(collection_id)s));

-- name: delete_entry
DELETE FROM lexicon_entry WHERE id = %(entry_id)s AND kind IN ('user_word', 'stopword') RETURNING id;

-- name: states
-- Of every collection, or of one: the digest of the words in effect, of those wanted (as in `wanted`), and what made
-- its segments.
SELECT c.id, c.name, c.word_list,
       CASE WHEN w.user_words <> ARRAY[]::text[] OR w.stop_words <> ARRAY[]::text[]
            THEN encode(sha256(convert_to(w.user_words::text || w.stop_words::text, 'UTF8')), 'hex') END,
       ARRAY(SELECT DISTINCT s.tokenizer FROM lexical_segment s WHERE s.collection_id = c.id AND NOT s.retired)
FROM collection c
     CROSS JOIN LATERAL (
         SELECT coalesce(array_agg(DISTINCT term COLLATE "C") FILTER (WHERE kind = 'user_word'), ARRAY[]::text[])
                    AS user_words,
                coalesce(array_agg(DISTINCT term COLLATE "C") FILTER (WHERE kind = 'stopword'), ARRAY[]::text[])
                    AS stop_words
         FROM lexicon_entry e
         WHERE e.kind IN ('user_word', 'stopword') AND (e.collection_id = c.id OR e.collection_id IS NULL)) w
WHERE %(collection_id)s::bigint IS NULL OR c.id = %(collection_id)s
ORDER BY c.id;
