-- name: of_document
SELECT k.id, k.text_sha256,
       (SELECT array_agg(ARRAY[s.start_char, s.end_char] ORDER BY s.ordinal) FROM span s
        WHERE s.collection_id = k.collection_id AND s.chunk_id = k.id)
FROM chunk k
WHERE k.collection_id = %(collection_id)s AND k.document_id = %(document_id)s
ORDER BY k.ordinal;

-- name: delete
DELETE FROM chunk WHERE collection_id = %(collection_id)s AND id = ANY(%(chunk_ids)s);

-- name: move
-- A chunk whose text did not change keeps its id, vector, spans and postings; only its place is new.
UPDATE chunk
SET ordinal = m.ordinal, start_char = m.start_char, end_char = m.end_char, section = m.section, page = m.page, line = m.line
FROM unnest(%(chunk_ids)s::bigint[], %(ordinals)s::int[], %(starts)s::int[], %(ends)s::int[], %(sections)s::text[],
            %(pages)s::int[], %(lines)s::int[])
     AS m(id, ordinal, start_char, end_char, section, page, line)
WHERE chunk.collection_id = %(collection_id)s AND chunk.id = m.id;

-- name: reserve
SELECT nextval(pg_get_serial_sequence('chunk', 'id')) FROM generate_series(1, %(count)s);

-- name: copy
COPY chunk (collection_id, id, document_id, ordinal, start_char, end_char, text, section, page, line, text_sha256)
FROM STDIN (FORMAT binary);

-- name: copy_spans
COPY span (collection_id, chunk_id, ordinal, start_char, end_char) FROM STDIN (FORMAT binary);

-- name: ids
SELECT id FROM chunk WHERE collection_id = %(collection_id)s AND document_id = %(document_id)s;

-- name: texts
SELECT id, text FROM chunk WHERE collection_id = %(collection_id)s AND document_id = %(document_id)s;

-- name: texts_of
SELECT id, text FROM chunk WHERE collection_id = %(collection_id)s AND id = ANY(%(chunk_ids)s);

-- name: details
SELECT k.id, k.document_id, d.source, d.title, k.section, k.start_char, k.end_char, k.text, k.text_sha256, k.page, k.line
FROM chunk k JOIN document d ON d.collection_id = k.collection_id AND d.id = k.document_id
WHERE k.collection_id = %(collection_id)s AND k.id = ANY(%(chunk_ids)s);

-- name: labels
SELECT k.id, k.text_sha256, d.source, k.han_share
FROM chunk k JOIN document d ON d.collection_id = k.collection_id AND d.id = k.document_id
WHERE k.collection_id = %(collection_id)s AND k.id = ANY(%(chunk_ids)s);

-- name: page
SELECT id, ordinal, start_char, end_char, text, section, page, line FROM chunk
WHERE collection_id = (SELECT collection_id FROM document WHERE id = %(document_id)s) AND document_id = %(document_id)s
  AND ordinal > %(after)s
ORDER BY ordinal LIMIT %(limit)s;

-- name: windows
-- One statement for all hits. Chunks begin one after the other, so no more of them than characters are in reach; this
-- bounds the index scan in a long document. substring() counts its way through the content: about 7 ms per megabyte.
SELECT h.id, h.document_id, w.start_char, substring(d.content, w.start_char + 1, w.end_char - w.start_char),
       n.ids, n.starts, n.ends, n.sections
FROM chunk h
     JOIN document d ON d.collection_id = h.collection_id AND d.id = h.document_id
     CROSS JOIN LATERAL (
         SELECT greatest(0, h.start_char - %(reach)s) AS start_char, h.end_char + %(reach)s AS end_char) w
     CROSS JOIN LATERAL (
         SELECT array_agg(k.id ORDER BY k.ordinal) AS ids, array_agg(k.start_char ORDER BY k.ordinal) AS starts,
                array_agg(k.end_char ORDER BY k.ordinal) AS ends, array_agg(k.section ORDER BY k.ordinal) AS sections
         FROM chunk k
         WHERE k.collection_id = h.collection_id AND k.document_id = h.document_id
           AND k.ordinal BETWEEN h.ordinal - %(reach)s AND h.ordinal + %(reach)s
           AND k.start_char >= w.start_char AND k.end_char <= w.end_char) n
WHERE h.collection_id = %(collection_id)s AND h.id = ANY(%(chunk_ids)s);
