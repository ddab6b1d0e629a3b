"""Make room for the retrieval engine: filters, word lists, counted tombstones, every rerank score.

Revision ID: 0002
Revises: 0001
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from migrations.functions import install_functions

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "word_list",
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("user_words", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("stop_words", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("word_list_pkey")),
    )
    op.add_column("collection", sa.Column("word_list", sa.Text(), nullable=True))
    op.create_foreign_key(op.f("collection_word_list_fkey"), "collection", "word_list", ["word_list"], ["sha256"])
    op.create_index(
        "document_metadata_idx",
        "document",
        ["metadata"],
        postgresql_using="gin",
        postgresql_ops={"metadata": "jsonb_path_ops"},
    )
    op.create_index(
        "document_source_prefix_idx",
        "document",
        ["collection_id", "source"],
        postgresql_ops={"source": "text_pattern_ops"},
    )
    op.create_index(
        "chunk_section_prefix_idx",
        "chunk",
        ["collection_id", "section"],
        postgresql_ops={"section": "text_pattern_ops"},
    )
    for name, kind, computed in (
        ("chunk_count", sa.Integer(), "cardinality(chunk_ids)"),
        ("first_chunk_id", sa.BigInteger(), "chunk_ids[1]"),
        ("last_chunk_id", sa.BigInteger(), "chunk_ids[cardinality(chunk_ids)]"),
    ):
        op.add_column("lexical_segment", sa.Column(name, kind, sa.Computed(computed, persisted=True), nullable=True))
    op.add_column("lexical_segment", sa.Column("dead_count", sa.Integer(), server_default=sa.text("0"), nullable=False))
    op.add_column(
        "lexical_segment", sa.Column("retired", sa.Boolean(), server_default=sa.text("false"), nullable=False)
    )
    op.execute(
        """UPDATE lexical_segment s SET dead_count = t.dead
           FROM (SELECT collection_id, segment_id, count(*) AS dead FROM lexical_tombstone GROUP BY 1, 2) t
           WHERE s.collection_id = t.collection_id AND s.id = t.segment_id"""
    )
    op.add_column("query_log", sa.Column("tokenizer", sa.Text(), server_default=sa.text("''"), nullable=False))
    op.add_column("query_log", sa.Column("vector_scan", sa.Text(), server_default=sa.text("'none'"), nullable=False))
    op.create_check_constraint(
        op.f("query_log_vector_scan_check"), "query_log", "vector_scan IN ('none', 'exact', 'hnsw')"
    )
    op.execute("UPDATE query_log SET vector_scan = 'exact' WHERE embedding IS NOT NULL")
    op.add_column(
        "chunk",
        sa.Column(
            "han_share",
            sa.REAL(),
            sa.Computed("regexp_count(text, '[㐀-鿿]')::real / greatest(char_length(text), 1)", persisted=True),
            nullable=True,
        ),
    )
    op.add_column(
        "query_hit", sa.Column("other_language", sa.Boolean(), server_default=sa.text("false"), nullable=False)
    )
    op.add_column("query_hit", sa.Column("coverage", sa.Double(), nullable=True))
    op.add_column("query_hit", sa.Column("rerank_score", sa.Double(), nullable=True))
    op.add_column("query_hit", sa.Column("collapsed_into", sa.BigInteger(), nullable=True))
    op.add_column("query_hit", sa.Column("resemblance", sa.Double(), nullable=True))
    op.add_column("query_hit", sa.Column("passage_start_char", sa.Integer(), nullable=True))
    op.add_column("query_hit", sa.Column("passage_end_char", sa.Integer(), nullable=True))
    op.execute("UPDATE query_hit SET rerank_score = span_cosine")
    install_functions()


def downgrade() -> None:
    passage = ("passage_end_char", "passage_start_char")
    for column in (*passage, "resemblance", "collapsed_into", "rerank_score", "coverage", "other_language"):
        op.drop_column("query_hit", column)
    op.drop_column("chunk", "han_share")
    op.drop_column("query_log", "vector_scan")
    op.drop_column("query_log", "tokenizer")
    # what was retired has no column to say so any more
    op.execute("DELETE FROM lexical_segment WHERE retired")
    for column in ("retired", "dead_count", "last_chunk_id", "first_chunk_id", "chunk_count"):
        op.drop_column("lexical_segment", column)
    op.drop_index("chunk_section_prefix_idx", "chunk")
    op.drop_index("document_source_prefix_idx", "document")
    op.drop_index("document_metadata_idx", "document")
    op.drop_column("collection", "word_list")
    op.drop_table("word_list")
