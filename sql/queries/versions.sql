-- name: record
-- A document's version as it was just written, and, but for the first, the texts that it added and removed. Both stand
-- in `chunk` at this moment: what goes is deleted after this.
WITH v AS (
    INSERT INTO document_version (collection_id, document_id, version, title, content_sha256, chunks, added, removed,
                                  changed)
    SELECT collection_id, id, version, title, content_sha256, %(chunks)s, cardinality(%(added)s::bigint[]),
           cardinality(%(removed)s::bigint[]), %(changed)s
    FROM document WHERE collection_id = %(collection_id)s AND id = %(document_id)s
    RETURNING collection_id, document_id, version
)
INSERT INTO document_change (collection_id, document_id, version, kind, ordinal, section, text, text_sha256, page, line)
SELECT v.collection_id, v.document_id, v.version, g.kind, k.ordinal, k.section, k.text, k.text_sha256, k.page, k.line
FROM v
     CROSS JOIN (SELECT unnest(%(added)s::bigint[]) AS id, 'added' AS kind
                 UNION ALL SELECT unnest(%(removed)s::bigint[]), 'removed') g
     JOIN chunk k ON k.collection_id = v.collection_id AND k.id = g.id
WHERE v.version > 1;

-- name: trim
DELETE FROM document_version
WHERE collection_id = %(collection_id)s AND document_id = %(document_id)s
  AND version <= (SELECT version FROM document WHERE collection_id = %(collection_id)s AND id = %(document_id)s) - %(keep)s;

-- name: list
SELECT version, at, title, content_sha256, chunks, added, removed, changed FROM document_version
WHERE collection_id = %(collection_id)s AND document_id = %(document_id)s
ORDER BY version DESC;

-- name: changes
SELECT kind, version, ordinal, section, text, text_sha256, page, line FROM document_change
WHERE collection_id = %(collection_id)s AND document_id = %(document_id)s
  AND version > %(since)s AND version <= %(until)s
ORDER BY version, kind DESC, ordinal;
