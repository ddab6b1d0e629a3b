-- name: allowed
-- Ids of active chunks that a search may find, ascending in one array. NULL switches a part of the condition off; the
-- planner sees the values (the statement is never prepared), so that each part that is on finds its index.
-- `@@` is true where the jsonpath is, by document_metadata_idx as far as it asks for equality. `^@` is "starts with":
-- no character is a wildcard. The condition on d and k stands in vectors.sql too, see there.
SELECT array_agg(id ORDER BY id)
FROM (
    SELECT k.id
    FROM chunk k JOIN document d ON d.collection_id = k.collection_id AND d.id = k.document_id
    WHERE k.collection_id = %(collection_id)s AND d.collection_id = %(collection_id)s
      AND (%(chunk_ids)s::bigint[] IS NULL OR k.id = ANY(%(chunk_ids)s))
      AND d.state = 'active'
      AND (%(filter_metadata)s::jsonpath IS NULL OR d.metadata @@ %(filter_metadata)s::jsonpath)
      AND (%(filter_source_prefix)s::text IS NULL OR d.source ^@ %(filter_source_prefix)s)
      AND (%(filter_document_ids)s::bigint[] IS NULL OR d.id = ANY(%(filter_document_ids)s))
      AND (%(filter_created_at)s::tstzrange IS NULL OR d.created_at <@ %(filter_created_at)s::tstzrange)
      AND (%(filter_updated_at)s::tstzrange IS NULL OR d.updated_at <@ %(filter_updated_at)s::tstzrange)
      AND (%(filter_section)s::text IS NULL
           OR k.section = %(filter_section)s OR k.section ^@ (%(filter_section)s || ' > '))
    LIMIT %(limit)s) AS found;
