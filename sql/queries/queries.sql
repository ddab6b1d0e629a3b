-- name: get
SELECT q.collection_id, q.id, q.at, q.kind, c.name, q.revision, q.question, q.tokenizer, q.tokens, q.parameters,
       q.vector_scan, q.lexical, q.confidence, q.source, q.reason, q.answer, q.citations, q.timings, q.degraded
FROM query_log q JOIN collection c ON c.id = q.collection_id
WHERE q.id = %(query_id)s;

-- name: hits
SELECT chunk_id, text_sha256, source, vector_rank, bm25_rank, cosine, bm25, vector_norm, bm25_norm, fused, fused_rank,
       span_cosine, coverage, rerank_score, score, rank, other_language, picked, cited, collapsed_into,
       resemblance,
       passage_start_char, passage_end_char
FROM query_hit
WHERE collection_id = %(collection_id)s AND query_id = %(query_id)s
ORDER BY rank;
