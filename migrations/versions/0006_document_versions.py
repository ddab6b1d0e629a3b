"""Keep what each version of a document added and removed.

Of documents that are there already the present version is the first that is known.

Revision ID: 0006
Revises: 0005
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_KEPT = """
INSERT INTO document_version (collection_id, document_id, version, at, title, content_sha256, chunks, added, removed,
                              changed)
SELECT d.collection_id, d.id, d.version, d.updated_at, d.title, d.content_sha256, k.chunks, k.chunks, 0, '{}'
FROM document d
     CROSS JOIN LATERAL (SELECT count(*) AS chunks FROM chunk k
                         WHERE k.collection_id = d.collection_id AND k.document_id = d.id) k
"""


def upgrade() -> None:
    op.create_table(
        "document_version",
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in ("collection_id", "document_id")),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("title", "content_sha256")),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in ("chunks", "added", "removed")),
        sa.Column("changed", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.PrimaryKeyConstraint("collection_id", "document_id", "version", name="document_version_pkey"),
        sa.ForeignKeyConstraint(
            ["collection_id", "document_id"],
            ["document.collection_id", "document.id"],
            name="document_version_collection_id_document_id_fkey",
            ondelete="CASCADE",
        ),
    )
    op.create_table(
        "document_change",
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in ("collection_id", "document_id")),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("ordinal", sa.Integer(), autoincrement=False, nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("section", "text", "text_sha256")),
        *(sa.Column(name, sa.Integer(), nullable=True) for name in ("page", "line")),
        sa.CheckConstraint("kind IN ('added', 'removed')", name="document_change_kind_check"),
        sa.PrimaryKeyConstraint(
            "collection_id", "document_id", "version", "kind", "ordinal", name="document_change_pkey"
        ),
        sa.ForeignKeyConstraint(
            ["collection_id", "document_id", "version"],
            ["document_version.collection_id", "document_version.document_id", "document_version.version"],
            name="document_change_collection_id_document_id_version_fkey",
            ondelete="CASCADE",
        ),
    )
    op.execute(_KEPT)


def downgrade() -> None:
    op.drop_table("document_change")
    op.drop_table("document_version")
