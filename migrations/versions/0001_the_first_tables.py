"""Create the first tables, and the functions of sql/functions.

Revision ID: 0001
Revises:
"""

import pgvector.sqlalchemy
import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from migrations.functions import SCHEMA, drop_functions, install_functions

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("CREATE EXTENSION IF NOT EXISTS vector")
    op.create_table(
        "api_key",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("key_sha256", sa.Text(), nullable=False),
        sa.Column("scopes", postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("api_key_pkey")),
        sa.UniqueConstraint("key_sha256", name=op.f("api_key_key_sha256_key")),
    )
    op.create_table(
        "embedding_space",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("backend", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("dim", sa.Integer(), nullable=False),
        sa.Column("query_prefix", sa.Text(), nullable=False),
        sa.Column("passage_prefix", sa.Text(), nullable=False),
        sa.Column("fingerprint", pgvector.sqlalchemy.vector.VECTOR(), nullable=True),
        sa.Column("state", sa.Text(), server_default=sa.text("'active'"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("state IN ('building', 'active', 'retired')", name=op.f("embedding_space_state_check")),
        sa.CheckConstraint("dim BETWEEN 1 AND 16000", name=op.f("embedding_space_dim_check")),
        sa.PrimaryKeyConstraint("id", name=op.f("embedding_space_pkey")),
    )
    op.create_index(
        "embedding_space_identity_idx",
        "embedding_space",
        ["backend", "model", "dim", "query_prefix", "passage_prefix"],
        unique=True,
        postgresql_where=sa.text("state = 'active'"),
    )
    op.create_table(
        "job",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default=sa.text("'queued'"), nullable=False),
        sa.Column(
            "parameters", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False
        ),
        sa.Column("progress", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'done', 'failed', 'cancelled')", name=op.f("job_state_check")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("job_pkey")),
    )
    op.create_table(
        "collection",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("space_id", sa.BigInteger(), nullable=False),
        sa.Column("settings", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("revision", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("cache_scope", sa.Uuid(), server_default=sa.text("gen_random_uuid()"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("name <> ''", name=op.f("collection_name_check")),
        sa.ForeignKeyConstraint(["space_id"], ["embedding_space.id"], name=op.f("collection_space_id_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("collection_pkey")),
        sa.UniqueConstraint("name", name=op.f("collection_name_key")),
    )
    op.create_table(
        "document",
        sa.Column("collection_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("characters", sa.Integer(), nullable=False),
        sa.Column("content_sha256", sa.Text(), nullable=False),
        sa.Column("splitting", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("metadata", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("state", sa.Text(), server_default=sa.text("'active'"), nullable=False),
        sa.Column("version", sa.Integer(), server_default=sa.text("1"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("state IN ('active', 'disabled')", name=op.f("document_state_check")),
        sa.ForeignKeyConstraint(
            ["collection_id"], ["collection.id"], name=op.f("document_collection_id_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("collection_id", "id", name=op.f("document_pkey")),
        sa.UniqueConstraint("collection_id", "source", name=op.f("document_collection_id_source_key")),
    )
    op.create_index(
        "document_disabled_idx",
        "document",
        ["collection_id", "id"],
        unique=False,
        postgresql_where=sa.text("state = 'disabled'"),
    )
    op.create_index("document_id_idx", "document", ["id"], unique=False)
    op.create_table(
        "eval_run",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("collection_id", sa.BigInteger(), nullable=False),
        sa.Column("dataset", sa.Text(), nullable=False),
        sa.Column(
            "parameters", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False
        ),
        sa.Column("metrics", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.ForeignKeyConstraint(
            ["collection_id"], ["collection.id"], name=op.f("eval_run_collection_id_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("eval_run_pkey")),
    )
    op.create_table(
        "lexical_segment",
        sa.Column("collection_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("tokenizer", sa.Text(), nullable=False),
        sa.Column("chunk_ids", postgresql.ARRAY(sa.BigInteger()), nullable=False),
        sa.Column("lengths", postgresql.ARRAY(sa.Integer()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["collection_id"], ["collection.id"], name=op.f("lexical_segment_collection_id_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("collection_id", "id", name=op.f("lexical_segment_pkey")),
    )
    op.create_table(
        "lexicon_entry",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("collection_id", sa.BigInteger(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("term", sa.Text(), nullable=False),
        sa.Column("canonical", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "kind IN ('blocked', 'synonym', 'user_word', 'stopword')", name=op.f("lexicon_entry_kind_check")
        ),
        sa.ForeignKeyConstraint(
            ["collection_id"], ["collection.id"], name=op.f("lexicon_entry_collection_id_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("lexicon_entry_pkey")),
        sa.UniqueConstraint(
            "collection_id",
            "kind",
            "term",
            name=op.f("lexicon_entry_collection_id_kind_term_key"),
            postgresql_nulls_not_distinct=True,
        ),
    )
    op.create_table(
        "qa_pair",
        sa.Column("collection_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("normalized_question", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default=sa.text("'active'"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("state IN ('active', 'disabled')", name=op.f("qa_pair_state_check")),
        sa.ForeignKeyConstraint(
            ["collection_id"], ["collection.id"], name=op.f("qa_pair_collection_id_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("collection_id", "id", name=op.f("qa_pair_pkey")),
        sa.UniqueConstraint(
            "collection_id", "normalized_question", name=op.f("qa_pair_collection_id_normalized_question_key")
        ),
    )
    op.create_index("qa_pair_id_idx", "qa_pair", ["id"], unique=False)
    op.create_table(
        "query_log",
        sa.Column("collection_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("space_id", sa.BigInteger(), nullable=True),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("tokens", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("embedding", pgvector.sqlalchemy.vector.VECTOR(), nullable=True),
        sa.Column(
            "parameters", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False
        ),
        sa.Column("lexical", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("confidence", sa.Double(), nullable=True),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("citations", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'[]'"), nullable=False),
        sa.Column("timings", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("degraded", postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.CheckConstraint("kind IN ('search', 'ask')", name=op.f("query_log_kind_check")),
        sa.ForeignKeyConstraint(
            ["collection_id"], ["collection.id"], name=op.f("query_log_collection_id_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("collection_id", "id", name=op.f("query_log_pkey")),
    )
    op.create_index("query_log_at_idx", "query_log", ["at"], unique=False)
    op.create_index("query_log_collection_id_at_idx", "query_log", ["collection_id", "at"], unique=False)
    op.create_index("query_log_id_idx", "query_log", ["id"], unique=False)
    op.create_table(
        "chunk",
        sa.Column("collection_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("document_id", sa.BigInteger(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("start_char", sa.Integer(), nullable=False),
        sa.Column("end_char", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("text_sha256", sa.Text(), nullable=False),
        sa.Column("section", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("page", sa.Integer(), nullable=True),
        sa.Column("metadata", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.CheckConstraint("start_char >= 0 AND end_char > start_char", name=op.f("chunk_offsets_check")),
        sa.ForeignKeyConstraint(
            ["collection_id", "document_id"],
            ["document.collection_id", "document.id"],
            name=op.f("chunk_collection_id_document_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("collection_id", "id", name=op.f("chunk_pkey")),
        sa.UniqueConstraint(
            "collection_id",
            "document_id",
            "ordinal",
            deferrable=True,
            initially="DEFERRED",
            name=op.f("chunk_collection_id_document_id_ordinal_key"),
        ),
    )
    op.create_index("chunk_collection_id_text_sha256_idx", "chunk", ["collection_id", "text_sha256"], unique=False)
    op.create_table(
        "eval_case",
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("ordinal", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("gold", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("query_id", sa.Uuid(), nullable=True),
        sa.Column("metrics", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["eval_run.id"], name=op.f("eval_case_run_id_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "ordinal", name=op.f("eval_case_pkey")),
    )
    op.create_table(
        "lexical_posting",
        sa.Column("collection_id", sa.BigInteger(), nullable=False),
        sa.Column("segment_id", sa.BigInteger(), nullable=False),
        sa.Column("term", sa.Text(), nullable=False),
        sa.Column("ordinals", postgresql.ARRAY(sa.Integer()), nullable=False),
        sa.Column("frequencies", postgresql.ARRAY(sa.SmallInteger()), nullable=False),
        sa.ForeignKeyConstraint(
            ["collection_id", "segment_id"],
            ["lexical_segment.collection_id", "lexical_segment.id"],
            name=op.f("lexical_posting_collection_id_segment_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("collection_id", "segment_id", "term", name=op.f("lexical_posting_pkey")),
    )
    op.create_table(
        "lexical_tombstone",
        sa.Column("collection_id", sa.BigInteger(), nullable=False),
        sa.Column("segment_id", sa.BigInteger(), nullable=False),
        sa.Column("ordinal", sa.Integer(), autoincrement=False, nullable=False),
        sa.ForeignKeyConstraint(
            ["collection_id", "segment_id"],
            ["lexical_segment.collection_id", "lexical_segment.id"],
            name=op.f("lexical_tombstone_collection_id_segment_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("collection_id", "segment_id", "ordinal", name=op.f("lexical_tombstone_pkey")),
    )
    op.create_table(
        "qa_embedding",
        sa.Column("collection_id", sa.BigInteger(), nullable=False),
        sa.Column("qa_pair_id", sa.BigInteger(), nullable=False),
        sa.Column("space_id", sa.BigInteger(), nullable=False),
        sa.Column("embedding", pgvector.sqlalchemy.vector.VECTOR(), nullable=False),
        sa.ForeignKeyConstraint(
            ["collection_id", "qa_pair_id"],
            ["qa_pair.collection_id", "qa_pair.id"],
            name=op.f("qa_embedding_collection_id_qa_pair_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("collection_id", "qa_pair_id", "space_id", name=op.f("qa_embedding_pkey")),
        postgresql_partition_by="LIST (space_id)",
    )
    op.create_table(
        "query_hit",
        sa.Column("collection_id", sa.BigInteger(), nullable=False),
        sa.Column("query_id", sa.Uuid(), nullable=False),
        sa.Column("chunk_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("text_sha256", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("vector_rank", sa.Integer(), nullable=True),
        sa.Column("bm25_rank", sa.Integer(), nullable=True),
        sa.Column("cosine", sa.Double(), nullable=True),
        sa.Column("bm25", sa.Double(), nullable=True),
        sa.Column("vector_norm", sa.Double(), nullable=True),
        sa.Column("bm25_norm", sa.Double(), nullable=True),
        sa.Column("fused", sa.Double(), nullable=True),
        sa.Column("fused_rank", sa.Integer(), nullable=False),
        sa.Column("span_cosine", sa.Double(), nullable=True),
        sa.Column("score", sa.Double(), nullable=True),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("picked", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("cited", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.ForeignKeyConstraint(
            ["collection_id", "query_id"],
            ["query_log.collection_id", "query_log.id"],
            name=op.f("query_hit_collection_id_query_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("collection_id", "query_id", "chunk_id", name=op.f("query_hit_pkey")),
    )
    op.create_table(
        "embedding",
        sa.Column("collection_id", sa.BigInteger(), nullable=False),
        sa.Column("chunk_id", sa.BigInteger(), nullable=False),
        sa.Column("space_id", sa.BigInteger(), nullable=False),
        sa.Column("embedding", pgvector.sqlalchemy.vector.VECTOR(), nullable=False),
        sa.ForeignKeyConstraint(
            ["collection_id", "chunk_id"],
            ["chunk.collection_id", "chunk.id"],
            name=op.f("embedding_collection_id_chunk_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("collection_id", "chunk_id", "space_id", name=op.f("embedding_pkey")),
        postgresql_partition_by="LIST (space_id)",
    )
    op.create_table(
        "span",
        sa.Column("collection_id", sa.BigInteger(), nullable=False),
        sa.Column("chunk_id", sa.BigInteger(), nullable=False),
        sa.Column("ordinal", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("start_char", sa.Integer(), nullable=False),
        sa.Column("end_char", sa.Integer(), nullable=False),
        sa.CheckConstraint("start_char >= 0 AND end_char > start_char", name=op.f("span_offsets_check")),
        sa.ForeignKeyConstraint(
            ["collection_id", "chunk_id"],
            ["chunk.collection_id", "chunk.id"],
            name=op.f("span_collection_id_chunk_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("collection_id", "chunk_id", "ordinal", name=op.f("span_pkey")),
    )
    op.create_table(
        "span_embedding",
        sa.Column("collection_id", sa.BigInteger(), nullable=False),
        sa.Column("chunk_id", sa.BigInteger(), nullable=False),
        sa.Column("ordinal", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("space_id", sa.BigInteger(), nullable=False),
        sa.Column("embedding", pgvector.sqlalchemy.halfvec.HALFVEC(), nullable=False),
        sa.ForeignKeyConstraint(
            ["collection_id", "chunk_id", "ordinal"],
            ["span.collection_id", "span.chunk_id", "span.ordinal"],
            name=op.f("span_embedding_collection_id_chunk_id_ordinal_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("collection_id", "chunk_id", "ordinal", "space_id", name=op.f("span_embedding_pkey")),
        postgresql_partition_by="LIST (space_id)",
    )
    # numbers that do not compress: stored out of line as they are, so that reading them costs no inflate
    op.execute(
        "ALTER TABLE lexical_posting ALTER ordinals SET STORAGE EXTERNAL, ALTER frequencies SET STORAGE EXTERNAL"
    )
    op.execute("ALTER TABLE lexical_segment ALTER chunk_ids SET STORAGE EXTERNAL, ALTER lengths SET STORAGE EXTERNAL")
    install_functions()


def downgrade() -> None:
    drop_functions()
    op.execute(f"DROP SCHEMA {SCHEMA}")
    op.drop_table("span_embedding")
    op.drop_table("span")
    op.drop_table("embedding")
    op.drop_table("query_hit")
    op.drop_table("qa_embedding")
    op.drop_table("lexical_tombstone")
    op.drop_table("lexical_posting")
    op.drop_table("eval_case")
    op.drop_index("chunk_collection_id_text_sha256_idx", table_name="chunk")
    op.drop_table("chunk")
    op.drop_index("query_log_id_idx", table_name="query_log")
    op.drop_index("query_log_collection_id_at_idx", table_name="query_log")
    op.drop_index("query_log_at_idx", table_name="query_log")
    op.drop_table("query_log")
    op.drop_index("qa_pair_id_idx", table_name="qa_pair")
    op.drop_table("qa_pair")
    op.drop_table("lexicon_entry")
    op.drop_table("lexical_segment")
    op.drop_table("eval_run")
    op.drop_index("document_id_idx", table_name="document")
    op.drop_index("document_disabled_idx", table_name="document", postgresql_where=sa.text("state = 'disabled'"))
    op.drop_table("document")
    op.drop_table("collection")
    op.drop_table("job")
    op.drop_index(
        "embedding_space_identity_idx", table_name="embedding_space", postgresql_where=sa.text("state = 'active'")
    )
    op.drop_table("embedding_space")
    op.drop_table("api_key")
