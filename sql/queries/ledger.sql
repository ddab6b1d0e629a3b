-- name: relaxed
-- The ledger's own transaction need not wait for the disk: after a crash of the server the last fraction of a second
-- of it may be missing, never a part of one query. And each row of query_hit looks up its query_log: a connection that
-- planned this while that table was empty would read all of it each time, until the table is next analysed.
SET LOCAL synchronous_commit = off; SET LOCAL enable_seqscan = off;

-- name: insert_query
INSERT INTO query_log (collection_id, id, kind, revision, space_id, question, tokenizer, tokens, embedding, parameters,
                       vector_scan, lexical, confidence, source, reason, answer, citations, timings, degraded)
VALUES (%(collection_id)s, %(id)s, %(kind)s, %(revision)s, %(space_id)s, %(question)s, %(tokenizer)s, %(tokens)s,
        %(embedding)s, %(parameters)s, %(vector_scan)s, %(lexical)s, %(confidence)s, %(source)s, %(reason)s, %(answer)s,
        %(citations)s, %(timings)s, %(degraded)s);

-- name: copy_hits
COPY query_hit (collection_id, query_id, chunk_id, text_sha256, source, vector_rank, bm25_rank, cosine, bm25,
                vector_norm, bm25_norm, fused, fused_rank, span_cosine, coverage, rerank_score, score, rank, other_language,
                picked, cited, collapsed_into, resemblance, passage_start_char, passage_end_char)
FROM STDIN (FORMAT binary);
