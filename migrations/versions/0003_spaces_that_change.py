"""Make room for spaces that change: fingerprints, re-embeddings under way, documents that wait for an embedder.

Revision ID: 0003
Revises: 0002
"""

import sqlalchemy as sa
from alembic import op
from pgvector.sqlalchemy import VECTOR
from sqlalchemy.dialects import postgresql

from migrations.functions import install_functions

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_IDENTITY = ["backend", "model", "dim", "query_prefix", "passage_prefix"]


def upgrade() -> None:
    op.drop_column("embedding_space", "fingerprint")  # no version has written it
    op.add_column("embedding_space", sa.Column("fingerprint", postgresql.ARRAY(sa.REAL()), nullable=True))
    _identity_index("state <> 'retired'")
    op.create_table(
        "reembedding",
        sa.Column("collection_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("space_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["collection_id"], ["collection.id"], name=op.f("reembedding_collection_id_fkey"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["space_id"], ["embedding_space.id"], name=op.f("reembedding_space_id_fkey")),
        sa.PrimaryKeyConstraint("collection_id", name=op.f("reembedding_pkey")),
    )
    op.create_table(
        "pending_document",
        sa.Column("collection_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("source", "title", "media_type", "content")),
        sa.Column("metadata", postgresql.JSONB(), server_default=sa.text("'{}'"), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("digest", "error", "reason")),
        sa.Column("attempts", sa.Integer(), server_default=sa.text("1"), nullable=False),
        *(
            sa.Column(name, sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False)
            for name in ("created_at", "updated_at")
        ),
        sa.ForeignKeyConstraint(
            ["collection_id"], ["collection.id"], name=op.f("pending_document_collection_id_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("collection_id", "id", name=op.f("pending_document_pkey")),
        sa.UniqueConstraint("collection_id", "source", name=op.f("pending_document_collection_id_source_key")),
    )
    install_functions()


def downgrade() -> None:
    op.drop_table("pending_document")
    op.drop_table("reembedding")
    _identity_index("state = 'active'")
    op.drop_column("embedding_space", "fingerprint")
    op.add_column("embedding_space", sa.Column("fingerprint", VECTOR(), nullable=True))


def _identity_index(where: str) -> None:
    op.drop_index("embedding_space_identity_idx", "embedding_space")
    op.create_index(
        "embedding_space_identity_idx", "embedding_space", _IDENTITY, unique=True, postgresql_where=sa.text(where)
    )
