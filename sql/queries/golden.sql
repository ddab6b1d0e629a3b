-- name: put
-- Returns for each whether it is new.
INSERT INTO golden_question (collection_id, key, question, gold, answer, language)
SELECT %(collection_id)s::bigint, q.key, q.question, q.gold, q.answer, q.language
FROM unnest(%(keys)s::text[], %(questions)s::text[], %(gold)s::jsonb[], %(answers)s::text[], %(languages)s::text[])
     AS q (key, question, gold, answer, language)
ON CONFLICT (collection_id, key) DO UPDATE
SET question = EXCLUDED.question, gold = EXCLUDED.gold, answer = EXCLUDED.answer, language = EXCLUDED.language
RETURNING xmax = 0;

-- name: list
SELECT key, question, gold, answer, language FROM golden_question
WHERE collection_id = %(collection_id)s ORDER BY id;

-- name: remove
DELETE FROM golden_question WHERE collection_id = %(collection_id)s AND key = ANY(%(keys)s);

-- name: lost
-- Passages that no active document holds, as the documents are now; and whether the document is there.
SELECT q.key, g ->> 'source', d.id IS NOT NULL
FROM golden_question q
     CROSS JOIN LATERAL jsonb_array_elements(q.gold) AS g
     LEFT JOIN document d ON d.collection_id = q.collection_id AND d.source = g ->> 'source' AND d.state = 'active'
WHERE q.collection_id = %(collection_id)s AND (d.id IS NULL OR strpos(d.content, g ->> 'quote') = 0)
ORDER BY q.id;
