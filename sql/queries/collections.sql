-- name: find
SELECT c.id, c.name, c.settings, c.revision, s.id, s.backend, s.model, s.dim, s.query_prefix, s.passage_prefix,
       c.cache_scope, c.word_list, s.fingerprint
FROM collection c JOIN embedding_space s ON s.id = c.space_id
WHERE c.name = %(name)s;

-- name: by_id
SELECT c.id, c.name, c.settings, c.revision, s.id, s.backend, s.model, s.dim, s.query_prefix, s.passage_prefix,
       c.cache_scope, c.word_list, s.fingerprint
FROM collection c JOIN embedding_space s ON s.id = c.space_id
WHERE c.id = %(collection_id)s;

-- name: space
SELECT space_id FROM collection WHERE id = %(collection_id)s;

-- name: names
SELECT c.name, c.revision, count(d.id)
FROM collection c LEFT JOIN document d ON d.collection_id = c.id
GROUP BY c.id
ORDER BY c.name;

-- name: sharing
SELECT id, name FROM collection
WHERE space_id = %(space_id)s AND id <> %(collection_id)s
ORDER BY id DESC LIMIT %(limit)s;

-- name: insert
INSERT INTO collection (name, space_id, settings, word_list)
VALUES (%(name)s, %(space_id)s, %(settings)s, %(word_list)s)
ON CONFLICT (name) DO NOTHING;

-- name: hold
-- Writers begin here, so that a deletion of the collection waits for them and they for it; they do not wait for
-- each other. In any other order the two would deadlock.
SELECT id FROM collection WHERE id = %(collection_id)s FOR KEY SHARE;

-- name: lock_for_deletion
SELECT id FROM collection WHERE name = %(name)s FOR UPDATE;

-- name: delete
DELETE FROM collection WHERE name = %(name)s;

-- name: lock
-- Writers of a collection queue here, last in their transaction and briefly. NO KEY UPDATE leaves room for the
-- foreign keys of new documents, which take KEY SHARE on the same row.
SELECT revision FROM collection WHERE id = %(collection_id)s FOR NO KEY UPDATE;

-- name: bump
-- Every change that a search could see passes here, so a cache key with the revision is never stale.
UPDATE collection SET revision = revision + 1 WHERE id = %(collection_id)s RETURNING revision;
