"""Make room for the lines where chunks begin and the pages of documents that wait, and find equal contents.

Revision ID: 0005
Revises: 0004
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("chunk", sa.Column("line", sa.Integer(), nullable=True))
    op.add_column(
        "pending_document",
        sa.Column("pages", postgresql.ARRAY(sa.Integer()), server_default=sa.text("'{}'"), nullable=False),
    )
    op.create_index("document_content_idx", "document", ["collection_id", "content_sha256"])


def downgrade() -> None:
    op.drop_index("document_content_idx", "document")
    op.drop_column("pending_document", "pages")
    op.drop_column("chunk", "line")
