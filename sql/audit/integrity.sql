-- What must always hold between the tables. No row: all of it does.
--
--     psql $DATABASE_URL -f sql/audit/integrity.sql
--
-- One statement without psql commands, so that a program can run it too. A row names the invariant that is broken, the
-- collection, how often, and the first five places. Each check below says what to do about its rows. Reads only.

WITH
live AS MATERIALIZED (
    SELECT c.id AS collection_id, l.segment_id, l.ordinal, l.chunk_id
    FROM collection c CROSS JOIN LATERAL ragledger_audit.live_chunks(c.id) l
    WHERE l.chunk_id IS NOT NULL
),
segment AS MATERIALIZED (
    SELECT g.collection_id, g.id, g.chunk_count AS chunks FROM lexical_segment g
),
posting AS MATERIALIZED (
    -- the third array is the first moved by one place, which is far cheaper than a window over each posting
    SELECT p.collection_id, p.segment_id, p.term, u.ordinal, u.frequency, u.previous
    FROM lexical_posting p
         CROSS JOIN LATERAL unnest(
             p.ordinals, p.frequencies, array_prepend(NULL, p.ordinals[:cardinality(p.ordinals) - 1]))
             AS u(ordinal, frequency, previous)
),
vector AS MATERIALIZED (
    SELECT 'embedding' AS kind, e.space_id, e.collection_id, e.chunk_id AS id, vector_dims(e.embedding) AS dim,
           vector_norm(e.embedding) AS norm
    FROM embedding e
    UNION ALL
    SELECT 'span_embedding', e.space_id, e.collection_id, e.chunk_id, vector_dims(e.embedding), l2_norm(e.embedding)
    FROM span_embedding e
    UNION ALL
    SELECT 'qa_embedding', e.space_id, e.collection_id, e.qa_pair_id, vector_dims(e.embedding), vector_norm(e.embedding)
    FROM qa_embedding e
),
broken (invariant, collection_id, place) AS (

    -- The content was changed past the service. Ingest the source again.
    SELECT 'document-hash', d.collection_id, format('document %s', d.id)
    FROM document d
    WHERE d.content_sha256 <> encode(sha256(convert_to(d.content, 'UTF8')), 'hex')

    UNION ALL
    -- Citations would point at the wrong place. Delete the document and ingest it again.
    SELECT 'chunk-text', k.collection_id, format('chunk %s of document %s', k.id, k.document_id)
    FROM chunk k JOIN document d ON d.collection_id = k.collection_id AND d.id = k.document_id
    WHERE k.text <> substring(d.content, k.start_char + 1, k.end_char - k.start_char)

    UNION ALL
    -- Re-ingest would take this chunk's vector for another text. Delete the document and ingest it again.
    SELECT 'chunk-hash', k.collection_id, format('chunk %s of document %s', k.id, k.document_id)
    FROM chunk k
    WHERE k.text_sha256 <> encode(sha256(convert_to(k.text, 'UTF8')), 'hex')

    UNION ALL
    -- Neighbouring chunks are not found. Delete the document and ingest it again.
    SELECT 'chunk-ordinals', k.collection_id, format('document %s', k.document_id)
    FROM chunk k
    GROUP BY k.collection_id, k.document_id
    HAVING min(k.ordinal) <> 0 OR max(k.ordinal) <> count(*) - 1

    UNION ALL
    -- Chunks are not in reading order. Delete the document and ingest it again.
    SELECT 'chunk-order', o.collection_id, format('chunk %s of document %s', o.id, o.document_id)
    FROM (SELECT k.collection_id, k.document_id, k.id, k.start_char, k.end_char,
                 lag(k.start_char) OVER before AS previous_start, lag(k.end_char) OVER before AS previous_end
          FROM chunk k
          WINDOW before AS (PARTITION BY k.collection_id, k.document_id ORDER BY k.ordinal)) o
    WHERE o.start_char <= o.previous_start OR o.end_char <= o.previous_end

    UNION ALL
    -- A document that no search can find. Delete it and ingest it again.
    SELECT 'document-without-chunks', d.collection_id, format('document %s', d.id)
    FROM document d
    WHERE NOT EXISTS (SELECT FROM chunk k WHERE k.collection_id = d.collection_id AND k.document_id = d.id)

    UNION ALL
    -- A model's vectors have no place to go: the partition was dropped by hand. Create it as app/db/spaces.py does.
    SELECT 'partition-missing', NULL::bigint, format('%s of space %s', t.name, s.id)
    FROM embedding_space s
         CROSS JOIN (VALUES ('embedding'), ('span_embedding'), ('qa_embedding')) AS t(name)
    WHERE s.state <> 'retired'
      AND NOT EXISTS (
          SELECT FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
          WHERE i.inhparent = t.name::regclass
            AND pg_get_expr(c.relpartbound, c.oid) = format('FOR VALUES IN (''%s'')', s.id))

    UNION ALL
    -- The collection's vectors are gone or will be. Point it at an active space and ingest its documents again.
    SELECT 'collection-space', c.id, format('space %s is %s', s.id, s.state)
    FROM collection c JOIN embedding_space s ON s.id = c.space_id
    WHERE s.state <> 'active'

    UNION ALL
    -- Only BM25 finds the chunk. Delete the document and ingest it again.
    SELECT 'chunk-vector-missing', k.collection_id, format('chunk %s of document %s', k.id, k.document_id)
    FROM chunk k
         JOIN collection c ON c.id = k.collection_id
         LEFT JOIN embedding e ON e.space_id = c.space_id AND e.collection_id = k.collection_id AND e.chunk_id = k.id
    WHERE e.chunk_id IS NULL

    UNION ALL
    -- Left over from a model that was replaced, or from a change of model that was given up; no search compares it. Run
    -- `ragledger reembed --abandon`, which removes it. (A change that is under way has vectors in its space by right.)
    SELECT 'vector-in-other-space', v.collection_id, format('%s %s in space %s', v.kind, v.id, v.space_id)
    FROM vector v
         JOIN collection c ON c.id = v.collection_id
         LEFT JOIN embedding_space s ON s.id = v.space_id
    WHERE v.space_id <> c.space_id AND s.state IS DISTINCT FROM 'retired'
      AND NOT EXISTS (SELECT FROM reembedding r WHERE r.collection_id = v.collection_id AND r.space_id = v.space_id)

    UNION ALL
    -- No collection has this model any more, but its vectors still take up space: a long transaction kept them from
    -- being dropped. Run `ragledger reembed --abandon`.
    SELECT 'retired-space-kept', NULL::bigint, format('%s of space %s', t.name, s.id)
    FROM embedding_space s
         CROSS JOIN (VALUES ('embedding'), ('span_embedding'), ('qa_embedding')) AS t(name)
    WHERE s.state = 'retired'
      AND EXISTS (
          SELECT FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
          WHERE i.inhparent = t.name::regclass
            AND pg_get_expr(c.relpartbound, c.oid) = format('FOR VALUES IN (''%s'')', s.id))

    UNION ALL
    -- A change of model leads nowhere: its space is retired. Run `ragledger reembed --abandon`, and begin it again.
    SELECT 'reembedding-space', r.collection_id, format('space %s is %s', s.id, s.state)
    FROM reembedding r JOIN embedding_space s ON s.id = r.space_id
    WHERE s.state = 'retired'

    UNION ALL
    -- The partition's check was dropped; comparing fails at such a row. Delete the document and ingest it again.
    SELECT 'vector-dimension', v.collection_id, format('%s %s: %s, not %s', v.kind, v.id, v.dim, s.dim)
    FROM vector v JOIN embedding_space s ON s.id = v.space_id
    WHERE v.dim <> s.dim

    UNION ALL
    -- Not a unit vector (or not finite: NaN sorts above all numbers). Delete the document and ingest it again.
    SELECT 'vector-length', v.collection_id, format('%s %s: %s', v.kind, v.id, round(v.norm::numeric, 6))
    FROM vector v
    WHERE v.norm NOT BETWEEN 0.999 AND 1.001

    UNION ALL
    -- The chunk cannot be reranked or quoted. Delete the document and ingest it again.
    SELECT 'spans-missing', k.collection_id, format('chunk %s of document %s', k.id, k.document_id)
    FROM chunk k JOIN document d ON d.collection_id = k.collection_id AND d.id = k.document_id
    WHERE (d.splitting ->> 'spans')::boolean
      AND NOT EXISTS (SELECT FROM span s WHERE s.collection_id = k.collection_id AND s.chunk_id = k.id)

    UNION ALL
    -- A quote would be cut off. Delete the document and ingest it again.
    SELECT 'span-bounds', s.collection_id, format('span %s of chunk %s', s.ordinal, s.chunk_id)
    FROM span s JOIN chunk k ON k.collection_id = s.collection_id AND k.id = s.chunk_id
    WHERE s.start_char < 0 OR s.end_char <= s.start_char OR s.end_char > length(k.text)

    UNION ALL
    -- Spans overlap, or one is missing in between. Delete the document and ingest it again.
    SELECT 'span-order', o.collection_id, format('span %s of chunk %s', o.ordinal, o.chunk_id)
    FROM (SELECT s.collection_id, s.chunk_id, s.ordinal, s.start_char,
                 lag(s.end_char) OVER before AS previous_end, row_number() OVER before - 1 AS place
          FROM span s
          WINDOW before AS (PARTITION BY s.collection_id, s.chunk_id ORDER BY s.ordinal)) o
    WHERE o.start_char < o.previous_end OR o.ordinal <> o.place

    UNION ALL
    -- The span takes no part in the rerank. Delete the document and ingest it again.
    SELECT 'span-vector-missing', s.collection_id, format('span %s of chunk %s', s.ordinal, s.chunk_id)
    FROM span s
         JOIN collection c ON c.id = s.collection_id
         LEFT JOIN span_embedding e ON e.space_id = c.space_id AND e.collection_id = s.collection_id
                                   AND e.chunk_id = s.chunk_id AND e.ordinal = s.ordinal
    WHERE e.chunk_id IS NULL

    UNION ALL
    -- The segment cannot be read. Disable and enable the documents of its chunks, then delete the segment.
    SELECT 'segment-arrays', g.collection_id, format('segment %s', g.id)
    FROM lexical_segment g
    WHERE cardinality(g.chunk_ids) <> cardinality(g.lengths)
       OR EXISTS (
           SELECT FROM (SELECT a.chunk_id, a.length, lag(a.chunk_id) OVER (ORDER BY a.position) AS previous
                        FROM unnest(g.chunk_ids, g.lengths) WITH ORDINALITY AS a(chunk_id, length, position)) o
           WHERE o.chunk_id <= o.previous OR o.length < 0 OR o.chunk_id IS NULL OR o.length IS NULL)

    UNION ALL
    -- BM25 of this term is wrong. Disable and enable the documents of the segment's chunks, then delete the segment.
    SELECT 'posting-arrays', b.collection_id, format('term %s of segment %s', b.term, b.segment_id)
    FROM (SELECT DISTINCT p.collection_id, p.segment_id, p.term
          FROM posting p JOIN segment g ON g.collection_id = p.collection_id AND g.id = p.segment_id
          WHERE p.ordinal IS NULL OR p.ordinal <= p.previous OR p.ordinal NOT BETWEEN 0 AND g.chunks - 1
             OR p.frequency IS NULL OR p.frequency <= 0) b

    UNION ALL
    -- A posting is missing or too much. Disable and enable the chunk's document, which indexes it again.
    SELECT 'segment-lengths', n.collection_id, format('ordinal %s of segment %s', n.ordinal, n.segment_id)
    FROM (SELECT g.collection_id, g.id AS segment_id, a.position - 1 AS ordinal, a.length
          FROM lexical_segment g CROSS JOIN LATERAL unnest(g.lengths) WITH ORDINALITY AS a(length, position)
          WHERE NOT g.retired) n  -- compaction is deleting the postings of those
         LEFT JOIN (SELECT p.collection_id, p.segment_id, p.ordinal, sum(p.frequency) AS tokens,
                           -- a count that smallint cannot hold is cut there
                           bool_or(p.frequency = 32767) AS capped
                    FROM posting p
                    GROUP BY p.collection_id, p.segment_id, p.ordinal) s
                ON s.collection_id = n.collection_id AND s.segment_id = n.segment_id AND s.ordinal = n.ordinal
    WHERE coalesce(s.tokens, 0) <> n.length AND NOT (coalesce(s.capped, false) AND s.tokens < n.length)

    UNION ALL
    -- Its chunks and the questions are cut into other words. Run `ragledger lexicon apply`.
    SELECT 'segment-words', g.collection_id, format('segment %s: %s', g.id, g.tokenizer)
    FROM lexical_segment g JOIN collection c ON c.id = g.collection_id
    WHERE NOT g.retired
      AND substring(g.tokenizer FROM ' words-([0-9a-f]{16})$') IS DISTINCT FROM left(c.word_list, 16)

    UNION ALL
    -- The segment cannot be read. Delete the tombstone and take it off the segment's dead_count.
    SELECT 'tombstone-bounds', t.collection_id, format('ordinal %s of segment %s', t.ordinal, t.segment_id)
    FROM lexical_tombstone t
         LEFT JOIN segment g ON g.collection_id = t.collection_id AND g.id = t.segment_id
    WHERE g.id IS NULL OR t.ordinal NOT BETWEEN 0 AND g.chunks - 1

    UNION ALL
    -- A process that has read some tombstones takes them for all. Set dead_count to the number that is there.
    SELECT 'dead-count', g.collection_id, format('segment %s: %s, not %s', g.id, count(t.ordinal), g.dead_count)
    FROM lexical_segment g
         LEFT JOIN lexical_tombstone t ON t.collection_id = g.collection_id AND t.segment_id = g.id
    GROUP BY g.collection_id, g.id
    HAVING count(t.ordinal) <> g.dead_count

    UNION ALL
    -- BM25 does not find the chunk. Disable its document and enable it again, which indexes it.
    SELECT 'chunk-not-indexed', k.collection_id, format('chunk %s of document %s', k.id, k.document_id)
    FROM chunk k JOIN document d ON d.collection_id = k.collection_id AND d.id = k.document_id
    WHERE d.state = 'active'
      AND NOT EXISTS (SELECT FROM live l WHERE l.collection_id = k.collection_id AND l.chunk_id = k.id)

    UNION ALL
    -- The chunk counts twice in df and N. Disable its document and enable it again.
    SELECT 'chunk-indexed-twice', l.collection_id, format('chunk %s', l.chunk_id)
    FROM live l
    GROUP BY l.collection_id, l.chunk_id
    HAVING count(*) > 1

    UNION ALL
    -- What was deleted or disabled is still found. Insert a tombstone for the ordinal and add 1 to dead_count.
    SELECT 'dead-chunk-indexed', l.collection_id,
           format('chunk %s at ordinal %s of segment %s', l.chunk_id, l.ordinal, l.segment_id)
    FROM live l
         LEFT JOIN chunk k ON k.collection_id = l.collection_id AND k.id = l.chunk_id
         LEFT JOIN document d ON d.collection_id = k.collection_id AND d.id = k.document_id
    WHERE d.state IS DISTINCT FROM 'active'

    UNION ALL
    -- No question can hit the pair. Save its question again. (SQL sees only a part of the normal form.)
    SELECT 'qa-normalized', p.collection_id, format('pair %s', p.id)
    FROM qa_pair p
    WHERE p.normalized_question = '' OR p.normalized_question <> lower(p.normalized_question)
       OR p.normalized_question <> btrim(p.normalized_question, ' ?!.,;:。，；、…~')
       OR p.normalized_question ~ '  |[\t\n\r]|[！-～]'

    UNION ALL
    -- Rows of the ledger were lost or changed; nothing the service does can do that. Restore them or delete the query.
    SELECT 'query-ranks', q.collection_id, format('query %s', q.id)
    FROM query_log q
         LEFT JOIN (SELECT h.collection_id, h.query_id, count(*) AS n,
                           min(h.rank) <> 1 OR max(h.rank) <> count(*) OR count(DISTINCT h.rank) <> count(*)
                               OR min(h.fused_rank) <> 1 OR max(h.fused_rank) <> count(*)
                               OR count(DISTINCT h.fused_rank) <> count(*) AS are_wrong
                    FROM query_hit h
                    GROUP BY h.collection_id, h.query_id) r
                ON r.collection_id = q.collection_id AND r.query_id = q.id
    -- rows of an earlier version do not say how many candidates they had
    WHERE r.are_wrong OR coalesce(r.n, 0) <> (q.parameters ->> 'ranked')::bigint

    UNION ALL
    -- The ledger contradicts itself about what was returned. As above.
    SELECT 'query-picks', h.collection_id, format('chunk %s of query %s', h.chunk_id, h.query_id)
    FROM query_hit h
         LEFT JOIN query_hit p ON p.collection_id = h.collection_id AND p.query_id = h.query_id
                              AND p.chunk_id = h.collapsed_into
    WHERE h.collapsed_into IS NOT NULL AND (h.picked OR p.picked IS NOT TRUE)
       OR h.resemblance IS NOT NULL AND h.collapsed_into IS NULL
       OR h.passage_start_char >= h.passage_end_char
       OR (h.passage_start_char IS NULL) <> (h.passage_end_char IS NULL)
       OR h.passage_start_char IS NOT NULL AND NOT h.picked

    UNION ALL
    -- The statistics a question was ranked with were lost or changed: its BM25 cannot be recomputed. As above.
    SELECT 'query-lexical', q.collection_id, format('query %s', q.id)
    FROM query_log q
         CROSS JOIN LATERAL (
             SELECT array_agg(t.term ORDER BY t.term) AS terms, sum(t.count) AS count, sum(t.count * t.idf) AS weight
             FROM jsonb_to_recordset(q.lexical -> 'terms') AS t(term text, count int, idf float8)) l
         CROSS JOIN LATERAL (
             SELECT array_agg(DISTINCT t.term ORDER BY t.term) AS terms, count(*) AS count
             FROM unnest(q.tokens) AS t(term)) a
    WHERE EXISTS (SELECT FROM query_hit h WHERE h.collection_id = q.collection_id AND h.query_id = q.id)
      AND (NOT q.lexical ?& ARRAY['live_chunks', 'mean_length', 'terms', 'bound']
           OR l.terms IS DISTINCT FROM a.terms OR coalesce(l.count, 0) <> a.count
           OR abs(coalesce(l.weight, 0) * ((q.parameters ->> 'k1')::float8 + 1)
                  - (q.lexical ->> 'bound')::float8) > 1e-6)

    UNION ALL
    -- BM25 counts a term otherwise than it did, although nothing has changed since: a posting was lost or renamed. Disable
    -- the documents of the segment's chunks and enable them again. (Looks at each collection's latest question only.)
    SELECT 'index-statistics', q.collection_id, format('term %s, df %s then, %s now', t.term, t.df, s.df)
    FROM collection c
         CROSS JOIN LATERAL (
             SELECT l.* FROM query_log l
             WHERE l.collection_id = c.id AND l.revision = c.revision AND l.lexical ? 'terms'
             ORDER BY l.at DESC LIMIT 1) q
         CROSS JOIN LATERAL jsonb_to_recordset(q.lexical -> 'terms') AS t(term text, df bigint)
         JOIN LATERAL ragledger_audit.bm25_statistics(
             q.collection_id, ARRAY(SELECT x.term FROM jsonb_to_recordset(q.lexical -> 'terms') AS x(term text))) s
              ON s.term = t.term
    WHERE s.df <> t.df OR s.live_chunks <> (q.lexical ->> 'live_chunks')::bigint

    UNION ALL
    -- Cached answers of an older state could be served. Set the revision above the highest logged one.
    SELECT 'revision', c.id, format('%s, but a query logged %s', c.revision, max(q.revision))
    FROM collection c JOIN query_log q ON q.collection_id = c.id
    GROUP BY c.id
    HAVING max(q.revision) > c.revision
)
SELECT b.invariant, coalesce(c.name, '-') AS collection, count(*) AS places,
       array_to_string((array_agg(b.place ORDER BY b.place))[1:5], '; ') AS first_places
FROM broken b LEFT JOIN collection c ON c.id = b.collection_id
GROUP BY b.invariant, c.id
ORDER BY b.invariant, c.name;
