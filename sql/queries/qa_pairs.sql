-- name: hit
SELECT p.id, c.name, p.question, p.answer, p.state, p.created_at, p.updated_at
FROM qa_pair p JOIN collection c ON c.id = p.collection_id
WHERE p.collection_id = %(collection_id)s AND p.normalized_question = %(normalized_question)s AND p.state = 'active';

-- name: insert
INSERT INTO qa_pair (collection_id, question, normalized_question, answer)
VALUES (%(collection_id)s, %(question)s, %(normalized_question)s, %(answer)s)
ON CONFLICT (collection_id, normalized_question) DO NOTHING
RETURNING id;

-- name: get
SELECT p.id, c.name, p.question, p.answer, p.state, p.created_at, p.updated_at
FROM qa_pair p JOIN collection c ON c.id = p.collection_id
WHERE p.id = %(qa_pair_id)s;

-- name: list
SELECT p.id, c.name, p.question, p.answer, p.state, p.created_at, p.updated_at
FROM qa_pair p JOIN collection c ON c.id = p.collection_id
WHERE p.collection_id = %(collection_id)s AND p.id > %(after)s
ORDER BY p.id LIMIT %(limit)s;

-- name: collection_of
SELECT collection_id FROM qa_pair WHERE id = %(qa_pair_id)s;

-- name: lock
SELECT question, answer, state FROM qa_pair
WHERE collection_id = %(collection_id)s AND id = %(qa_pair_id)s
FOR UPDATE;

-- name: update
UPDATE qa_pair SET question = %(question)s, normalized_question = %(normalized_question)s, answer = %(answer)s,
                   state = %(state)s, updated_at = now()
WHERE collection_id = %(collection_id)s AND id = %(qa_pair_id)s;

-- name: delete
DELETE FROM qa_pair WHERE collection_id = %(collection_id)s AND id = %(qa_pair_id)s;
