-- name: find
SELECT id, version, content_sha256, splitting, title, media_type, metadata,
       EXISTS (SELECT FROM pending_document WHERE collection_id = %(collection_id)s AND source = %(source)s)
FROM document WHERE collection_id = %(collection_id)s AND source = %(source)s;

-- name: twin
-- Another document of the same content, the oldest.
SELECT o.source FROM document d JOIN document o ON o.collection_id = d.collection_id AND o.content_sha256 = d.content_sha256
WHERE d.collection_id = %(collection_id)s AND d.id = %(document_id)s AND o.id <> d.id
ORDER BY o.id LIMIT 1;

-- name: lock
SELECT id, version, state FROM document WHERE collection_id = %(collection_id)s AND source = %(source)s FOR UPDATE;

-- name: insert
INSERT INTO document (collection_id, source, title, media_type, content, characters, content_sha256, splitting, metadata)
VALUES (%(collection_id)s, %(source)s, %(title)s, %(media_type)s, %(content)s, %(characters)s, %(content_sha256)s,
        %(splitting)s, %(metadata)s)
RETURNING id;

-- name: update
UPDATE document
SET title = %(title)s, media_type = %(media_type)s, content = %(content)s, characters = %(characters)s,
    content_sha256 = %(content_sha256)s,
    splitting = %(splitting)s, metadata = %(metadata)s, version = version + 1, updated_at = now()
WHERE collection_id = %(collection_id)s AND id = %(document_id)s;

-- name: get
SELECT d.id, c.name, d.source, d.title, d.media_type, d.metadata, d.state, d.version,
       (SELECT count(*) FROM chunk k WHERE k.collection_id = d.collection_id AND k.document_id = d.id),
       d.characters, d.created_at, d.updated_at
FROM document d JOIN collection c ON c.id = d.collection_id
WHERE d.id = %(document_id)s;

-- name: list
SELECT d.id, c.name, d.source, d.title, d.media_type, d.metadata, d.state, d.version,
       (SELECT count(*) FROM chunk k WHERE k.collection_id = d.collection_id AND k.document_id = d.id),
       d.characters, d.created_at, d.updated_at
FROM document d JOIN collection c ON c.id = d.collection_id
WHERE d.collection_id = %(collection_id)s AND d.id > %(after)s
ORDER BY d.id
LIMIT %(limit)s;

-- name: sources
SELECT id, source FROM document WHERE collection_id = %(collection_id)s ORDER BY id;

-- name: collection_of
SELECT collection_id FROM document WHERE id = %(document_id)s;

-- name: lock_by_id
SELECT state, version FROM document WHERE collection_id = %(collection_id)s AND id = %(document_id)s FOR UPDATE;

-- name: set_state
UPDATE document SET state = %(state)s, updated_at = now()
WHERE collection_id = %(collection_id)s AND id = %(document_id)s;

-- name: delete
DELETE FROM document WHERE collection_id = %(collection_id)s AND id = %(document_id)s;
