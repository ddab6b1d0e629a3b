-- name: keep
-- One version of a source waits: the newest. Of the same again only the attempts grow.
INSERT INTO pending_document (collection_id, source, title, media_type, content, pages, metadata, digest, error, reason)
VALUES (%(collection_id)s, %(source)s, %(title)s, %(media_type)s, %(content)s, %(pages)s, %(metadata)s, %(digest)s,
        %(error)s, %(reason)s)
ON CONFLICT (collection_id, source) DO UPDATE
SET title = excluded.title, media_type = excluded.media_type, content = excluded.content, pages = excluded.pages,
    metadata = excluded.metadata, digest = excluded.digest, error = excluded.error, reason = excluded.reason, updated_at = now(),
    created_at = CASE pending_document.digest WHEN excluded.digest THEN pending_document.created_at ELSE now() END,
    attempts = CASE pending_document.digest WHEN excluded.digest THEN pending_document.attempts + 1 ELSE 1 END;

-- name: note
UPDATE pending_document
SET error = %(error)s, reason = %(reason)s, attempts = attempts + 1, updated_at = now()
WHERE collection_id = %(collection_id)s AND id = %(id)s AND digest = %(digest)s;

-- name: forget
DELETE FROM pending_document WHERE collection_id = %(collection_id)s AND source = %(source)s;

-- name: forget_older
-- Where the stored version is still the one that was found equal to what came.
DELETE FROM pending_document p USING document d
WHERE p.collection_id = %(collection_id)s AND p.source = d.source
  AND d.collection_id = %(collection_id)s AND d.id = %(document_id)s AND d.version = %(version)s;

-- name: forget_with
DELETE FROM pending_document p USING document d
WHERE p.collection_id = %(collection_id)s AND p.source = d.source
  AND d.collection_id = %(collection_id)s AND d.id = %(document_id)s;

-- name: take
DELETE FROM pending_document WHERE collection_id = %(collection_id)s AND id = %(id)s AND digest = %(digest)s;

-- name: withdraw
DELETE FROM pending_document WHERE collection_id = %(collection_id)s AND id = %(id)s;

-- name: content
SELECT content, metadata, pages FROM pending_document
WHERE collection_id = %(collection_id)s AND id = %(id)s AND digest = %(digest)s;

-- name: list
SELECT id, source, title, media_type, digest, error, reason, attempts, created_at, updated_at
FROM pending_document
WHERE collection_id = %(collection_id)s AND id > %(after)s
ORDER BY id LIMIT %(limit)s;

-- name: due
-- What was tried least comes first, so that a document which always fails keeps none waiting.
SELECT id, source, title, media_type, digest, error, reason, attempts, created_at, updated_at
FROM pending_document
WHERE collection_id = %(collection_id)s
  AND (%(every)s OR error = 'EmbedderUnavailable' OR updated_at < now() - interval '1 hour')
ORDER BY attempts, id;

-- name: count
SELECT count(*) FROM pending_document WHERE collection_id = %(collection_id)s;

-- name: collections
SELECT c.name FROM collection c
WHERE EXISTS (SELECT FROM pending_document p WHERE p.collection_id = c.id)
ORDER BY c.name;

-- name: claim
-- Until the transaction ends. One worker per collection: two would embed the same documents.
SELECT pg_try_advisory_xact_lock(hashtextextended('ragledger.pending', %(collection_id)s));
